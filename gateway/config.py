"""The gateway's settings (contract.md 'Processes'); read once by `gateway.__main__`."""

from __future__ import annotations

from handrail_rpc.logging import Level
from handrail_rpc.settings import (
    ADDRESS_FORM,
    TARGET_FORM,
    ListenAddress,
    ListenAddressSetting,
    Seconds,
    ServiceSettings,
    TargetSetting,
    setting,
)


class GatewaySettings(ServiceSettings):
    """Where the gateway listens, where the Loop is, and how long a unary call may take."""

    listen: ListenAddressSetting = setting(
        "HANDRAIL_GATEWAY_LISTEN", ListenAddress("127.0.0.1", 50050), form=ADDRESS_FORM
    )
    loop: TargetSetting = setting("HANDRAIL_GATEWAY_LOOP", "127.0.0.1:50051", form=TARGET_FORM)
    deadline_seconds: Seconds = setting(
        "HANDRAIL_GATEWAY_DEADLINE_SECONDS", 15.0, form="a number of seconds, more than 0, at most 86400"
    )
    grace_seconds: Seconds = setting(
        "HANDRAIL_GATEWAY_GRACE_SECONDS", 5.0, form="a number of seconds, more than 0, at most 86400"
    )
    log_level: Level = setting("HANDRAIL_LOG_LEVEL", "info", form="debug, info, warning or error")
