"""SignalInteraction's messages to the use case's input and back. Called by the servicer."""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import NotCanonical, canonical_json, normalise_text, sha256_hex
from loop_service.application.signal_interaction import NewSignal, Signaled
from loop_service.convert import views
from loop_service.convert.names import STATE
from loop_service.convert.requests import Checks, body_sha256
from loop_service.domain.signal import MOST_PAYLOAD_BYTES, MOST_SIGNAL_CHARACTERS


def new_signal(request: pb.SignalInteractionRequest) -> NewSignal:
    """Name and payload in NFC: what is stored is what is hashed and what the Adapter gets."""
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("interaction_id", request.interaction_id)
    name = checks.text("signal", request.signal, MOST_SIGNAL_CHARACTERS, required=True)
    payload, canonical = _payload(request.payload, checks)
    checks.finish()
    return NewSignal(request_id, body_sha256(request), request.interaction_id, name, payload, sha256_hex(canonical))


def signaled(result: Signaled) -> pb.SignalInteractionResponse:
    """Another system that signals an interaction learns its state, not what it is about."""
    response = pb.SignalInteractionResponse(delivered=result.delivered)
    found = result.view.interaction
    if result.owned:
        response.interaction.CopyFrom(views.interaction(result.view))
    else:
        response.interaction.CopyFrom(
            pb.Interaction(interaction_id=found.interaction_id, state=STATE.number(found.state.value))
        )
    return response


def _payload(message: Struct, checks: Checks) -> tuple[bytes, bytes]:
    """Bytes of the normalised Struct, and its canonical JSON."""
    if message.ByteSize() > MOST_PAYLOAD_BYTES:
        checks.wrong("payload", f"must be at most {MOST_PAYLOAD_BYTES} bytes, not {message.ByteSize()}")
        return b"", b""
    try:
        value = _normalised(MessageToDict(message))
        canonical = canonical_json(value)
    except NotCanonical as error:
        checks.wrong("payload", str(error))
        return b"", b""
    except ValueError:
        checks.wrong("payload", "must not contain NaN or an infinity")
        return b"", b""
    return ParseDict(value, Struct()).SerializeToString(deterministic=True), canonical


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return normalise_text(value)
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        normal = {normalise_text(key): _normalised(item) for key, item in value.items()}
        if len(normal) != len(value):
            raise NotCanonical("must not have two keys that Unicode normalisation (NFC) makes the same")
        return normal
    return value
