"""The server side of every RPC: who calls, under which id, and how an error leaves. See `boundary`."""

from handrail_rpc.interceptors.boundary import Boundary
from handrail_rpc.interceptors.call_limits import NO_LIMITS, CallLimits

__all__ = ["NO_LIMITS", "Boundary", "CallLimits"]
