"""A small workspace with a mapping, and views of any folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.view import View

from .workspaces import Folder, write

CHECKOUT = """\
# Owned by the shop team
metadata:
  name: checkout   # the name
  title: Checkout service
  labels: {tier: "web"}
spec:
  # how many
  replicas: 2
  image: 'shop:1'
  ports:
  - name: http  # main
    port: 8080
  - name: admin
    port: 9090

  note: |
    first line

    third line

# the end
dependsOn: [billing]
"""
MAPPING = """\
types:
  service:
    files: services/*.yaml
    identity: /metadata/name
    title: /metadata/title
    schema: schemas/service.json
    references:
      - {path: /dependsOn/*, type: service}
"""
SCHEMA = """\
{
  "type": "object",
  "required": ["metadata", "spec"],
  "properties": {
    "spec": {"$ref": "parts/spec.json#/$defs/spec"},
    "since": {"type": "string", "format": "date"}
  }
}
"""
SPEC_PART = """\
{
  "$defs": {
    "spec": {
      "type": "object",
      "properties": {"replicas": {"type": "integer", "minimum": 1, "maximum": 5}, "port": {"type": "integer"}}
    }
  }
}
"""
GUIDE = """\
# Guide

How the shop runs.

## Retries

A failed call is retried three times. Then the order is parked.

## Logging

Logs are JSON lines on standard output.

### Levels

Set `LOG_LEVEL` to debug or info.

## Порты

Сервисы слушают порт 8080, админка — порт 9090.
"""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[WorkbenchIndex]:
    opened = WorkbenchIndex(tmp_path / "cache")
    yield opened
    opened.close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    write(root, "handrail-workbench.yaml", MAPPING)
    write(root, "services/checkout.yaml", CHECKOUT)
    write(root, "services/billing.yaml", "metadata: {name: billing}\nspec:\n  replicas: 1\n  port: 7070\n")
    write(
        root,
        "services/cart.yaml",
        "metadata: {name: cart}\nspec:\n  port: 8080\ndependsOn:\n  - checkout\n  - billing\n",
    )
    write(root, "schemas/service.json", SCHEMA)
    write(root, "schemas/parts/spec.json", SPEC_PART)
    write(root, "docs/guide.md", GUIDE)
    return root


@pytest.fixture
def see(index: WorkbenchIndex) -> Callable[[Path], View]:
    return lambda root: index.update(Folder(root))


@pytest.fixture
def view(see: Callable[[Path], View], shop: Path) -> View:
    return see(shop)
