"""Settings of the Loop, one pydantic class (contract.md 'Processes'). Read by __main__, built directly by tests."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, ValidationInfo, field_validator

from handrail_rpc import crash_points
from handrail_rpc.settings import (
    ADAPTERS_FORM,
    ADDRESS_FORM,
    CRASH_POINT_FORM,
    DATABASE_FORM,
    DAYS_FORM,
    AdapterTargetsSetting,
    Count,
    CrashPointSetting,
    DatabaseUrlSetting,
    Days,
    ListenAddressSetting,
    Seconds,
    ServiceSettings,
    default_database_url,
    setting,
)
from loop_service.application.environment import Timings
from loop_service.domain.budget import Budget

_SECONDS_FORM = "seconds, more than 0 and at most 86400"
_COUNT_FORM = "a whole number from 1 to 1000000"
_MODEL_FORM = "the provider's name of a model, 1 to 200 characters without spaces; leave it unset for none"
_BASE_URL_FORM = "https://host[:port][/path], or http:// to this machine, without a user, a query or a fragment"
_KEY_FORM = "the provider's key, 1 to 1000 printable characters; it is needed where HANDRAIL_LOOP_MODEL is set"
_TOKENS_FORM = "a whole number from 64 to 32000"


def parse_base_url(text: str) -> str:
    """Raises ValueError naming the accepted form: the key travels there, so never in the clear to another machine."""
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port
    except ValueError:
        host, port = "", None
    if not host or port == 0 or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"must be {_BASE_URL_FORM}")
    if url.username or url.password or url.query or url.fragment:
        raise ValueError(f"must be {_BASE_URL_FORM}")
    if url.scheme != "https" and not (url.scheme == "http" and _is_this_machine(host)):
        raise ValueError(f"must be {_BASE_URL_FORM}")
    return text


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class LoopSettings(ServiceSettings):
    """Every variable with its default; docs/operating.md lists them."""

    listen: ListenAddressSetting = setting("HANDRAIL_LOOP_LISTEN", "127.0.0.1:50051", form=ADDRESS_FORM)
    data_dir: Path = setting("HANDRAIL_DATA_DIR", Path("handrail-data"), form="path of a folder")
    database_url: DatabaseUrlSetting | None = setting("HANDRAIL_LOOP_DATABASE_URL", None, form=DATABASE_FORM)
    adapters: AdapterTargetsSetting = setting(
        "HANDRAIL_ADAPTERS",
        "aviation=127.0.0.1:50052,workbench=127.0.0.1:50052",
        form=ADAPTERS_FORM,
    )
    tool_actions: Count = setting("HANDRAIL_LOOP_TOOL_ACTIONS", 10, form=_COUNT_FORM)
    active_time_seconds: Seconds = setting("HANDRAIL_LOOP_ACTIVE_TIME_SECONDS", 120.0, form=_SECONDS_FORM)
    clarification_rounds: Count = setting("HANDRAIL_LOOP_CLARIFICATION_ROUNDS", 20, form=_COUNT_FORM)
    decisions: Count = setting("HANDRAIL_LOOP_DECISIONS", 100, form=_COUNT_FORM)
    generations: Count = setting("HANDRAIL_LOOP_GENERATIONS", 20, form=_COUNT_FORM)
    concurrent_runs: Count = setting("HANDRAIL_LOOP_CONCURRENT_RUNS", 128, form=_COUNT_FORM)
    queued_runs: Count = setting("HANDRAIL_LOOP_QUEUED_RUNS", 1000, form=_COUNT_FORM)
    unary_calls: Count = setting("HANDRAIL_LOOP_UNARY_CALLS", 1000, form=_COUNT_FORM)
    streams: Count = setting("HANDRAIL_LOOP_STREAMS", 10_000, form=_COUNT_FORM)
    lease_seconds: Seconds = setting("HANDRAIL_LOOP_LEASE_SECONDS", 30.0, form=_SECONDS_FORM)
    stop_patience_seconds: Seconds = setting("HANDRAIL_LOOP_STOP_PATIENCE_SECONDS", 10.0, form=_SECONDS_FORM)
    settle_first_seconds: Seconds = setting("HANDRAIL_LOOP_SETTLE_FIRST_SECONDS", 2.0, form=_SECONDS_FORM)
    expiry_recheck_seconds: Seconds = setting("HANDRAIL_LOOP_EXPIRY_RECHECK_SECONDS", 5.0, form=_SECONDS_FORM)
    describe_seconds: Seconds = setting("HANDRAIL_LOOP_DESCRIBE_SECONDS", 1.0, form=_SECONDS_FORM)
    reader_lag_events: Count = setting("HANDRAIL_LOOP_READER_LAG_EVENTS", 1000, form=_COUNT_FORM)
    event_retention_days: Days = setting("HANDRAIL_LOOP_EVENT_RETENTION_DAYS", 0, form=DAYS_FORM)
    housekeeping_seconds: Seconds = setting("HANDRAIL_LOOP_HOUSEKEEPING_SECONDS", 60.0, form=_SECONDS_FORM)
    poll_seconds: Seconds = setting("HANDRAIL_LOOP_POLL_SECONDS", 1.0, form=_SECONDS_FORM)
    grace_seconds: Seconds = setting("HANDRAIL_LOOP_GRACE_SECONDS", 5.0, form=_SECONDS_FORM)
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "HANDRAIL_LOG_LEVEL", "info", form="debug, info, warning or error"
    )
    workflow_model: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")] | None = setting(
        "HANDRAIL_LOOP_MODEL", None, form=_MODEL_FORM
    )
    workflow_model_base_url: Annotated[str, AfterValidator(parse_base_url)] = setting(
        "HANDRAIL_LOOP_MODEL_BASE_URL", "https://api.anthropic.com", form=_BASE_URL_FORM
    )
    workflow_model_key: SecretStr | None = setting("HANDRAIL_LOOP_MODEL_KEY", None, form=_KEY_FORM)
    workflow_model_seconds: Seconds = setting("HANDRAIL_LOOP_MODEL_SECONDS", 10.0, form=_SECONDS_FORM)
    workflow_model_tokens: Annotated[int, Field(ge=64, le=32_000)] = setting(
        "HANDRAIL_LOOP_MODEL_TOKENS", 1024, form=_TOKENS_FORM
    )
    crash_point: CrashPointSetting = setting(crash_points.VARIABLE, "", form=CRASH_POINT_FORM)

    @field_validator("workflow_model_key")
    @classmethod
    def _check_key(cls, key: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if key is None:
            is_fine = info.data.get("workflow_model") is None
        else:
            value = key.get_secret_value()
            is_fine = 1 <= len(value) <= 1000 and value.isascii() and value.isprintable()
        if not is_fine:
            raise ValueError(f"must be {_KEY_FORM}")
        return key

    @property
    def database(self) -> str:
        """The database URL: as set, or the embedded default under the data folder."""
        return self.database_url or default_database_url(self.data_dir, "loop")

    @property
    def uses_default_database(self) -> bool:
        return self.database_url is None

    def budget(self) -> Budget:
        return Budget(
            tool_actions=self.tool_actions,
            active_time=timedelta(seconds=self.active_time_seconds),
            clarification_rounds=self.clarification_rounds,
            decisions=self.decisions,
            generations=self.generations,
        )

    def timings(self) -> Timings:
        return Timings(
            lease=timedelta(seconds=self.lease_seconds),
            stop_patience_seconds=self.stop_patience_seconds,
            settle_first_seconds=self.settle_first_seconds,
            expiry_recheck=timedelta(seconds=self.expiry_recheck_seconds),
            describe_seconds=self.describe_seconds,
            model_seconds=self.workflow_model_seconds,
        )
