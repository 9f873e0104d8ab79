"""`python -m gateway`: the gRPC front door (contract.md 'Processes')."""

from __future__ import annotations

import argparse

from gateway.bootstrap import run_gateway
from gateway.config import GatewaySettings
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings


async def _main() -> None:
    settings = load_settings(GatewaySettings)
    configure_logging("handrail-gateway", settings.log_level)
    await run_gateway(settings)


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m gateway",
        description="Handrail's gateway. Settings are environment variables: HANDRAIL_GATEWAY_LISTEN, "
        "HANDRAIL_GATEWAY_LOOP, HANDRAIL_GATEWAY_DEADLINE_SECONDS, HANDRAIL_GATEWAY_GRACE_SECONDS, HANDRAIL_LOG_LEVEL.",
    ).parse_args()
    run_process(_main)
