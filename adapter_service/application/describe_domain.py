"""`DescribeDomain`: what a domain offers. Called by the servicer; reads declarations only."""

from __future__ import annotations

from adapter_service.application.ports import Domains
from adapter_service.sdk import Domain
from handrail_rpc.errors import NotFound


class DescribeDomain:
    """The use case; one instance a process. `history_id` is the database's, which changes only while it is closed."""

    def __init__(self, domains: Domains, history_id: str) -> None:
        self._domains = domains
        self.history_id = history_id

    def run(self, domain: str) -> Domain:
        """The domain's declarations. Raises NotFound for an unknown domain."""
        found = self._domains.get(domain)
        if found is None:
            raise NotFound.of("domain", domain)
        return found
