"""Settings of the Loop, one pydantic class (contract.md 'Processes'). Read by __main__, built directly by tests."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

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
    crash_point: CrashPointSetting = setting(crash_points.VARIABLE, "", form=CRASH_POINT_FORM)

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
        )
