"""Settings of the Adapter, read once at the start from the environment. Called by __main__ and tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from adapter_service.domain.session import MOST_PARALLEL_READS, PARALLEL_READS_LIMIT
from handrail_rpc import crash_points
from handrail_rpc.settings import (
    CRASH_POINT_FORM,
    DAYS_FORM,
    CrashPointSetting,
    DatabaseUrlSetting,
    Days,
    ListenAddress,
    ListenAddressSetting,
    Seconds,
    ServiceSettings,
    default_database_url,
    setting,
)

PARALLEL_READS_FORM = f"a whole number from 1 to {PARALLEL_READS_LIMIT}"
ParallelReads = Annotated[int, Field(ge=1, le=PARALLEL_READS_LIMIT)]
SECONDS_FORM = "seconds, more than 0 and at most 86400"
DOMAINS_FORM = (
    "names of installed domains or module:attribute, comma separated, for example aviation,library_desk:create_domain; "
    "unset: every installed domain"
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}|[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)


def _parse_domains(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(name.strip() for name in value.split(","))
    if not all(_NAME.fullmatch(name) for name in names) or len(set(names)) != len(names):
        raise ValueError(f"must be {DOMAINS_FORM}")
    return names


DomainNames = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_parse_domains)]


class AdapterSettings(ServiceSettings):
    """`domains` None: every domain that is installed as an entry point of the group handrail.domains.

    Otherwise names of entry points, or `module:attribute` of a domain or of a factory that makes one.
    """

    listen: ListenAddressSetting = setting(
        "HANDRAIL_ADAPTER_LISTEN", ListenAddress("127.0.0.1", 50052), form="host:port"
    )
    database: DatabaseUrlSetting | None = setting(
        "HANDRAIL_ADAPTER_DATABASE_URL", None, form="sqlite:////absolute/path/to/file.db"
    )
    data_dir: Path = setting("HANDRAIL_DATA_DIR", Path("handrail-data"), form="a folder")
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "HANDRAIL_LOG_LEVEL", "info", form="debug, info, warning or error"
    )
    crash_point: CrashPointSetting = setting(crash_points.VARIABLE, "", form=CRASH_POINT_FORM)
    parallel_reads: ParallelReads = setting(
        "HANDRAIL_ADAPTER_PARALLEL_READS", MOST_PARALLEL_READS, form=PARALLEL_READS_FORM
    )
    artifact_days: Days = setting("HANDRAIL_ADAPTER_ARTIFACT_DAYS", 0, form=DAYS_FORM)
    housekeeping_seconds: Seconds = setting("HANDRAIL_ADAPTER_HOUSEKEEPING_SECONDS", 3600.0, form=SECONDS_FORM)
    domains: DomainNames = setting("HANDRAIL_ADAPTER_DOMAINS", None, form=DOMAINS_FORM)

    @property
    def database_url(self) -> str:
        """The named database, or the embedded default below `data_dir`."""
        return self.database or default_database_url(self.data_dir, "adapter")
