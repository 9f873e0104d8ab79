"""The small workspace of the planner's and the domain's tests: services, teams and documentation, with comments."""

from __future__ import annotations

import json
from pathlib import Path

MAPPING = """\
types:
  service:
    files: "services/*.yaml"
    identity: /metadata/name
    title: /metadata/title
    schema: schemas/service.json
    references:
      - {path: /spec/dependsOn/*, type: service}
      - {path: /spec/owner, type: team}
  team:
    files: "teams/*.yaml"
    identity: /name
documentation: ["docs/**/*.md"]
"""
CHECKOUT = """\
# The shop's till. Ask the payments team before you touch the ports.
metadata:
  name: checkout
  title: Checkout of the shop
spec:
  replicas: 2   # two are enough at night
  image: shop/checkout:1.4.0
  port: 8080
  tracing: false
  owner: payments
  dependsOn:
    - billing
  tags: [web, critical]
"""
BILLING = """\
metadata:
  name: billing
  title: Billing
spec:
  replicas: 1
  image: shop/billing:2.0.1
  port: 8080
  owner: payments
"""
SEARCH = """\
metadata:
  name: search
  title: Search of the catalogue
spec:
  replicas: 4
  image: shop/search:0.9
  port: 9200
  owner: platform
"""
PROPERTIES = {
    "spec": {
        "type": "object",
        "required": ["image", "port"],
        "properties": {
            "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
            "port": {"type": "integer"},
            "image": {"type": "string"},
            "tracing": {"type": "boolean"},
        },
    }
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["metadata", "spec"],
    "properties": PROPERTIES,
}
DOCS = """\
# Operations

## Retries

A failed call is retried three times, after 1, 2 and 4 seconds. A call that is not idempotent is never retried.

## Logging

Set `LOG_LEVEL` to debug, info or error. Logs go to standard output as JSON.

## Ports

Every service listens on one port; the load balancer finds it by `spec.port`.
"""
DOCS_RU = """\
# Эксплуатация

## Ретраи

Неудачный вызов повторяется три раза. Неидемпотентный вызов не повторяется никогда.

## Логирование

Уровень задаёт переменная LOG_LEVEL: debug, info или error.
"""


def make_folder(folder: Path) -> None:
    """Write the workspace's files."""
    files = {
        "handrail-workbench.yaml": MAPPING,
        "services/checkout.yaml": CHECKOUT,
        "services/billing.yaml": BILLING,
        "services/search.yaml": SEARCH,
        "teams/payments.yaml": "name: payments\nmail: pay@example.org\n",
        "teams/platform.yaml": "name: platform\nmail: platform@example.org\n",
        "schemas/service.json": json.dumps(SCHEMA, indent=2) + "\n",
        "docs/operations.md": DOCS,
        "docs/эксплуатация.md": DOCS_RU,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
