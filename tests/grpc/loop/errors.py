"""Reads the status of a refused call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import grpc.aio
import pytest

from handrail_rpc.errors import HandrailError
from handrail_rpc.status import from_rpc_error


async def refused(call: Awaitable[Any], code: str) -> HandrailError:
    """The refusal of `call`, whose status must be `code`."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code().name == code, (caught.value.code().name, caught.value.details())
    return from_rpc_error(caught.value)
