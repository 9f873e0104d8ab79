"""The workbench: a workspace of typed documents and Markdown documentation (requirement I2), and its wiring into
Handrail.
"""

from adapter_service.domains.workbench.domain import create_domain

__all__ = ["create_domain"]
