"""How every process reads its settings: one pydantic class a service, one readable line for each wrong variable.

Composition roots call `load_settings`; tests build the class directly. A value is never echoed: it may hold a
credential (requirement G5).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from handrail_rpc import crash_points
from handrail_rpc.errors import StartRefused

ADDRESS_FORM = "host:port with a port from 0 to 65535, for example 127.0.0.1:50051 or [::1]:50051"
TARGET_FORM = "host:port, for example 127.0.0.1:50051"
ADAPTERS_FORM = "domain=host:port, comma separated, for example aviation=127.0.0.1:50052,workbench=127.0.0.1:50052"
DATABASE_FORM = "sqlite:////absolute/path/to/file.db (or sqlite:///relative/path.db)"

CRASH_POINT_FORM = "names of crash points, comma separated, or @/path/to/file; tests only"

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252})")
_DOMAIN = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where a server listens; port 0 lets the system choose (tests)."""

    host: str
    port: int

    @property
    def target(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether every address that the host stands for is loopback; a name that resolves to none is not."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            pass
        try:
            found = socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except OSError:
            return False
        return bool(found) and all(ipaddress.ip_address(str(a[4][0])).is_loopback for a in found)


def parse_listen_address(text: str) -> ListenAddress:
    """Raises ValueError naming the accepted form."""
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(f"must be {ADDRESS_FORM}") from None
    elif not _HOST.fullmatch(host):
        raise ValueError(f"must be {ADDRESS_FORM}")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"must be {ADDRESS_FORM}")
    return ListenAddress(host, int(port))


def parse_target(text: str) -> str:
    """A peer's address. Raises ValueError naming the accepted form."""
    try:
        address = parse_listen_address(text)
    except ValueError:
        raise ValueError(f"must be {TARGET_FORM}") from None
    if address.port == 0:
        raise ValueError(f"must be {TARGET_FORM}, the port not 0")
    return address.target


def parse_adapters(text: str) -> dict[str, str]:
    """`domain=host:port,…` as a mapping. Raises ValueError naming the accepted form."""
    adapters: dict[str, str] = {}
    for part in text.split(","):
        domain, equals, target = part.strip().partition("=")
        if not equals or not _DOMAIN.fullmatch(domain):
            raise ValueError(f"must be {ADAPTERS_FORM}")
        if domain in adapters:
            raise ValueError(f"must name each domain once; {domain} is repeated")
        try:
            adapters[domain] = parse_target(target)
        except ValueError:
            raise ValueError(f"must be {ADAPTERS_FORM}") from None
    return adapters


def parse_database_url(text: str) -> str:
    """Raises ValueError naming the accepted form."""
    path = text.removeprefix("sqlite:///")
    if path == text or not path or path.startswith(":memory:") or "?" in path:
        raise ValueError(f"must be {DATABASE_FORM}")
    return text


def default_database_url(data_dir: Path, name: str) -> str:
    """The embedded default: `<data_dir>/<name>.db`."""
    return f"sqlite:///{(data_dir / f'{name}.db').absolute()}"


def _from_text(parse: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


ListenAddressSetting = Annotated[ListenAddress, NoDecode, _from_text(parse_listen_address)]
TargetSetting = Annotated[str, _from_text(parse_target)]
AdapterTargetsSetting = Annotated[dict[str, str], NoDecode, _from_text(parse_adapters)]
DatabaseUrlSetting = Annotated[str, _from_text(parse_database_url)]
CrashPointSetting = Annotated[str, AfterValidator(crash_points.check)]
"""Checked here, at the start; handrail_rpc.crash_points itself has read the variable when it was imported."""
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Days = Annotated[int, Field(ge=0, le=36_500)]
DAYS_FORM = "a whole number of days from 0 (keep for ever) to 36500"


class ServiceSettings(BaseSettings):
    """Base of each service's settings class; read from the environment only, frozen."""

    model_config = SettingsConfigDict(
        extra="ignore",
        frozen=True,
        validate_default=True,
        populate_by_name=True,
        hide_input_in_errors=True,
        env_ignore_empty=False,
        case_sensitive=True,
    )


def setting(env: str, default: Any = PydanticUndefined, *, form: str) -> Any:
    """One field: the environment variable it is read from, its default, and the accepted form in words."""
    return Field(default=default, validation_alias=env, description=form)


AnySettings = TypeVar("AnySettings", bound=ServiceSettings)


def load_settings(settings: type[AnySettings]) -> AnySettings:
    """Read `settings` from the environment. Raises StartRefused: one line for each wrong variable, exit code 2."""
    try:
        return settings()
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False, include_input=False, include_context=False):
            name = str(problem["loc"][0]) if problem["loc"] else settings.__name__
            # A default that is wrong beside another setting is told by the field's name, not by its variable.
            if name in settings.model_fields:
                name = str(settings.model_fields[name].validation_alias)
            text = problem["msg"].removeprefix("Value error, ")
            form = next((f.description for f in settings.model_fields.values() if f.validation_alias == name), None)
            if form and problem["type"] != "value_error":
                text = f"must be {form}"
            lines.append(f"{name}: {text}")
        raise StartRefused("\n".join(["wrong settings:", *(f"  {line}" for line in lines)])) from error
    except SettingsError as error:
        raise StartRefused(f"wrong settings: {error}") from error
