"""Settings of the Adapter, read once at the start from the environment. Called by __main__ and tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

from handrail_rpc import crash_points
from handrail_rpc.settings import (
    CRASH_POINT_FORM,
    CrashPointSetting,
    DatabaseUrlSetting,
    ListenAddress,
    ListenAddressSetting,
    ServiceSettings,
    default_database_url,
    setting,
)

DOMAINS_FORM = "domain names, comma separated, for example aviation,workbench; unset: every installed domain"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def _parse_domains(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(name.strip() for name in value.split(","))
    if not all(_NAME.fullmatch(name) for name in names) or len(set(names)) != len(names):
        raise ValueError(f"must be {DOMAINS_FORM}")
    return names


DomainNames = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_parse_domains)]


class AdapterSettings(ServiceSettings):
    """`domains` None: every domain that is installed as an entry point of the group handrail.domains."""

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
    domains: DomainNames = setting("HANDRAIL_ADAPTER_DOMAINS", None, form=DOMAINS_FORM)

    @property
    def database_url(self) -> str:
        """The named database, or the embedded default below `data_dir`."""
        return self.database or default_database_url(self.data_dir, "adapter")
