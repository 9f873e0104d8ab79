"""A real Loop process whose workflow model finds every reply unclear: `python -m tests.crash.loop_process`."""

from __future__ import annotations

from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings
from loop_service.application.ports import JudgedReply, UnclearReply
from loop_service.bootstrap import start
from loop_service.config import LoopSettings
from loop_service.domain.decision import ReplyVerdict


class UnsureModel:
    """Stands in for a model: it has read the text and does not know."""

    async def judge(self, _reply: UnclearReply, _seconds: float) -> JudgedReply:
        return JudgedReply(ReplyVerdict.UNCLEAR)


async def main() -> None:
    settings = load_settings(LoopSettings)
    configure_logging("handrail-loop", settings.log_level)
    running = await start(settings, reply_model=UnsureModel())
    await running.server.serve()


if __name__ == "__main__":
    run_process(main)
