"""The site as a process for the browser, and outages of its store."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes.processes import OWN_SETTINGS, Site, free_port, run_site, wait_until
from tests.support.stores.store_faults import Server, down

PATIENCE = 120.0  # seconds for a start, an end or an outage: a start has taken 25 on a busy machine


@contextlib.contextmanager
def serving(folder: Path, store: str, **more: str) -> Iterator[Site]:
    """`manage.py serve` on that store, with `more` settings. One web worker, so that what is done is seen at once on
    every page."""
    settings = {"REDIS_URL": store, "WEB_WORKERS": "1", "THROTTLE": "0", **OWN_SETTINGS, **more}
    with run_site(folder / "var", folder / "log", free_port(), **settings) as site:
        try:
            wait_until(lambda: _ended(site) or _answers(site, "/livez", 200), "the site", PATIENCE)
            assert not _ended(site)
        except AssertionError as never:
            raise AssertionError(site.printed()) from never
        yield site
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(PATIENCE) == 0, site.printed()


def _ended(site: Site) -> bool:
    return site.process.poll() is not None


def _answers(site: Site, path: str, status: int) -> bool:
    return site.browser.open(path)[0] == status


@contextlib.contextmanager
def outage(site: Site, server: Server, befalls=down) -> Iterator[None]:
    """The store is away, or what else befalls it, for as long as the block; after it the site works again."""
    with befalls(server):
        wait_until(lambda: _answers(site, "/readyz", 503), "the store to be missed", PATIENCE)
        yield
    wait_until(lambda: _answers(site, "/readyz", 200), "the site to go on", PATIENCE)
