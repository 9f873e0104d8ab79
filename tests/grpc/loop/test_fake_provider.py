"""The fake provider speaks the Messages API as the real SDK reads it, and it is the only provider a test can reach."""

from __future__ import annotations

import anthropic
import httpx2
import pytest

from tests.fakes.provider import Breaks, FakeProvider, Refuses, Says, providing


def client(base_url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="key", base_url=base_url, max_retries=0, open_telemetry=False)


def streamed(provider: FakeProvider) -> anthropic.AsyncMessageStreamManager[None]:
    return client(provider.base_url).messages.stream(
        model="fake-model", max_tokens=100, messages=[{"role": "user", "content": "hello"}]
    )


async def test_a_message_comes_as_an_event_stream_too() -> None:
    text = "Eleven words, so that the text comes in several pieces of it."
    async with providing(Says(text, stop_reason="max_tokens")) as provider:
        async with streamed(provider) as stream:
            pieces = [piece async for piece in stream.text_stream]
            message = await stream.get_final_message()
        assert len(pieces) > 3
        assert "".join(pieces) == text
        assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("max_tokens", 50, 7)
        assert provider.asked[0].body["stream"] is True


async def test_a_stream_can_break_off_in_the_middle() -> None:
    async with providing(Breaks(cut=True)) as provider:
        # The SDK lets the HTTP client's own error through here, where it wraps that of a plain response.
        with pytest.raises(httpx2.RemoteProtocolError):
            async with streamed(provider) as stream:
                await stream.get_final_message()
        assert len(provider.asked) == 1


async def test_an_error_status_comes_with_its_retry_after() -> None:
    async with providing(Refuses(429, "7")) as provider:
        with pytest.raises(anthropic.RateLimitError) as refused:
            async with streamed(provider):
                pass
        assert refused.value.response.headers["retry-after"] == "7"


async def test_no_test_reaches_a_provider_elsewhere() -> None:
    with pytest.raises(anthropic.APIConnectionError) as refused:
        await client("http://192.0.2.1").messages.create(model="m", max_tokens=64, messages=[])
    causes, cause = [], refused.value.__cause__
    while cause is not None:
        causes.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    assert any("a test tried to connect to 192.0.2.1" in each for each in causes), causes
