"""gRPC reflection under both of its names; `RpcServer` adds it.

grpcio-reflection ships v1alpha only, newer clients ask v1 first. The two differ in nothing but the package's name, so
the same servicer and the same messages serve both, and v1's descriptor is the v1alpha one renamed.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2

from handrail_rpc import status
from handrail_rpc.context import new_request_id
from handrail_rpc.errors import Unavailable

REFLECTION_SERVICES = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")

_V1_FILE = "grpc/reflection/v1/reflection.proto"

Until = Callable[[AsyncIterable[Any], asyncio.Event], AsyncGenerator[Any, None]]


def add_reflection(server: grpc.aio.Server, services: Sequence[str], until: Until, draining: asyncio.Event) -> None:
    """Serve `services` and reflection itself. A client that keeps its stream open is ended by the drain (`until`)."""
    _know_v1()
    servicer: Any = reflection.aio.ReflectionServicer([*services, *REFLECTION_SERVICES])

    async def reflect(requests: AsyncIterable[Any], context: grpc.aio.ServicerContext[Any, Any]) -> None:
        try:
            async with aclosing(until(servicer.ServerReflectionInfo(requests, context), draining)) as answers:
                async for answer in answers:
                    await context.write(_with_json_names(answer))
        except Unavailable as error:
            # The boundary lets reflection pass untouched; left to gRPC, the drain would be UNKNOWN with this text.
            await status.abort(context, status.to_status(error, new_request_id()))

    handler = grpc.stream_stream_rpc_method_handler(
        reflect,
        reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for name in REFLECTION_SERVICES:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {"ServerReflectionInfo": handler}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, methods),))


def _with_json_names(answer: reflection_pb2.ServerReflectionResponse) -> reflection_pb2.ServerReflectionResponse:
    """Descriptors that Python embeds lack the members' JSON names; grpcurl then prints and asks for proto names."""
    files = answer.file_descriptor_response.file_descriptor_proto
    for at, data in enumerate(files):
        files[at] = _file_with_json_names(data)
    return answer


@functools.cache
def _file_with_json_names(data: bytes) -> bytes:
    file = descriptor_pb2.FileDescriptorProto.FromString(data)
    known = descriptor_pool.Default().FindFileByName(file.name)
    for message in file.message_type:
        _name_members(message, known.message_types_by_name[message.name])
    return file.SerializeToString()


def _name_members(message: descriptor_pb2.DescriptorProto, known: Descriptor) -> None:
    for member in message.field:
        member.json_name = known.fields_by_name[member.name].json_name
    for nested in message.nested_type:
        _name_members(nested, known.nested_types_by_name[nested.name])


def _know_v1() -> None:
    """Put v1's file into the default pool, so that a client can describe the service it is talking to."""
    pool = descriptor_pool.Default()
    try:
        pool.FindFileByName(_V1_FILE)
    except KeyError:
        v1 = descriptor_pb2.FileDescriptorProto()
        reflection_pb2.DESCRIPTOR.CopyToProto(v1)
        v1.name, v1.package = _V1_FILE, "grpc.reflection.v1"
        for message in v1.message_type:
            for member in message.field:
                if member.type_name:
                    member.type_name = member.type_name.replace(".v1alpha.", ".v1.")
        for service in v1.service:
            for method in service.method:
                method.input_type = method.input_type.replace(".v1alpha.", ".v1.")
                method.output_type = method.output_type.replace(".v1alpha.", ".v1.")
        pool.AddSerializedFile(v1.SerializeToString())
