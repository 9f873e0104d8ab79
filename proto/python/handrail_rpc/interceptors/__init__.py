"""The server side of every RPC: who calls, under which id, and how an error leaves. See `boundary`."""

from handrail_rpc.interceptors.boundary import Boundary

__all__ = ["Boundary"]
