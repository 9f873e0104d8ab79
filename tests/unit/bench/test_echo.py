"""The echo is bare, but it listens and connects with the very options of Handrail's servers and channels."""

from __future__ import annotations

from bench.echo import CHANNEL_OPTIONS, SERVER_OPTIONS
from handrail_rpc import channel, server


def test_the_echo_has_the_options_of_the_services() -> None:
    limits = {"grpc.max_receive_message_length", "grpc.max_send_message_length"}
    assert CHANNEL_OPTIONS == channel._OPTIONS
    assert tuple(pair for pair in server._OPTIONS if pair[0] not in limits) == SERVER_OPTIONS
