"""`DescribeDomain`: what a domain offers. Called by the servicer; reads declarations only."""

from __future__ import annotations

from adapter_service.application.ports import Domains
from adapter_service.sdk import Domain
from handrail_rpc.errors import NotFound


class DescribeDomain:
    """The use case; one instance a process."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains

    def run(self, domain: str) -> Domain:
        """The domain's declarations. Raises NotFound for an unknown domain."""
        found = self._domains.get(domain)
        if found is None:
            raise NotFound.of("domain", domain)
        return found
