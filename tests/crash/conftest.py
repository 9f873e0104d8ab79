"""Each file of the crash suite has a Loop and an Adapter of its own, so that the files run side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.site import Site, running_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running
