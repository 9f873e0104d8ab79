"""Builds the place indexes in the background, so that the Adapter listens at once and no request builds them twice.

Called by create_domain (start) and by the planner and the resolvers (wait). The indexes take about two and a half
seconds of one core.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable

from adapter_service.domains.aviation.matching import warm_up

_LOGGER = logging.getLogger(__name__)


class Warming:
    """One build of the indexes in a daemon thread.

    The indexes themselves are immutable and may be built by several threads at once with the same outcome; waiting
    only keeps a request that comes during the build from doing the same work again.
    """

    def __init__(self, build: Callable[[], None] = warm_up) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to build, once; returns at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="aviation-warm-up", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Return when the build that was started is over; at once where none was started."""
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        collecting = gc.isenabled()
        gc.disable()  # nothing of it is garbage, and looking for some takes a fifth of the time
        try:
            self._build()
        except Exception:
            # The boundary of a thread: each index is built again by the first request that needs it, which then fails
            # with its cause.
            _LOGGER.exception("the place indexes could not be built in advance")
            return
        finally:
            if collecting:
                gc.enable()
        # They live as long as the process: no collection has to walk them, which holds up every thread for a tenth of a
        # second.
        gc.freeze()
        _LOGGER.info("place indexes built", extra={"seconds": round(time.monotonic() - began, 2)})


INDEXES = Warming()
