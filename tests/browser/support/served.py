"""The site as a process for the browser, and outages of its store."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes.ports import free_port
from tests.support.processes.processes import Site, run_site, wait_until
from tests.support.stores.store_faults import Server, down


@contextlib.contextmanager
def serving(folder: Path, store: str, **more: str) -> Iterator[Site]:
    """`manage.py serve` on that store, with `more` settings. One web worker, so that what is done is seen at once on
    every page."""
    settings = {"REDIS_URL": store, "WEB_WORKERS": "1", "THROTTLE": "0", **more}
    with run_site(folder / "var", folder / "log", free_port(), **settings) as site:
        try:
            site.wait_until_it_serves()
        except AssertionError as never:
            raise AssertionError(site.printed()) from never
        yield site
        assert site.stop() == 0, site.printed()


@contextlib.contextmanager
def outage(site: Site, server: Server, befalls=down) -> Iterator[None]:
    """The store is away, or what else befalls it, for as long as the block; after it the site works again."""
    with befalls(server):
        wait_until(lambda: site.browser.open("/readyz")[0] == 503, "the store to be missed")
        yield
    wait_until(lambda: site.browser.open("/readyz")[0] == 200, "the site to go on")
