"""The aviation domain: plain functions over a real airport catalogue, and their wiring into Handrail."""

from adapter_service.domains.aviation.domain import create_domain

__all__ = ["create_domain"]
