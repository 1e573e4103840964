"""Chromium, the site as `manage.py serve` runs it, and a window for each user.

One browser, one store and one site serve all tests of a process. Nothing is emptied between them, since the site's
processes cache much. Each test registers users with new names instead.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from retwis_site.store.client import Store, connect
from tests.browser.support.console import Console
from tests.browser.support.served import serving
from tests.browser.support.windows import FLAGS, WIDE, WITHIN, find_chromium, sign_in
from tests.support.people import Login, register
from tests.support.stores.store_faults import Server

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def real_server() -> Iterator[Server]:
    """A server at the address in the settings. It keeps its data when it is killed."""
    server = Server(settings.STORE_DIR)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(autouse=True)
def raw(real_server: Server) -> Any:
    """The store as redis-cli sees it, with the data of the tests before."""
    return real_server.admin


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.exit("There is no chromium. Install Debian's package: apt-get install chromium", returncode=1)
    expect.set_options(timeout=WITHIN)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(real_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("site"), settings.REDIS_URL) as site:
        yield site


@pytest.fixture
def console(site: Any) -> Console:
    """Collects what Chromium complains of in all windows of the test. A test declares the errors that it provokes:
    `console.expects(503, "/post/")`."""
    return Console(site.browser.origin)


@pytest.fixture
def window(chromium: Browser, site: Any, console: Console) -> Iterator[Callable[..., Page]]:
    """Opens an empty browser: `window()` for a visitor, `window(alice)` signed in, `window(viewport=PHONE)`; with
    `at="/people/"` at a page. At the end of the test its console must be empty."""
    contexts = []

    def open_window(login: Login | None = None, at: str = "", **options: Any) -> Page:
        # A service worker would answer what a test answers itself.
        usual = {"base_url": site.browser.origin, "viewport": WIDE, "service_workers": "block"}
        context = chromium.new_context(**{**usual, **options})
        contexts.append(context)
        context.set_default_timeout(WITHIN)
        console.watch(context)
        if login is not None:
            sign_in(context, login, site.browser.origin)
        page = context.new_page()
        if at:
            page.goto(at)
        return page

    yield open_window
    try:
        for context in contexts:
            console.settle(context)
        assert console.complaints() == []
    finally:
        for context in contexts:
            context.close()


@pytest.fixture
def name() -> Callable[[str], str]:
    """`name("Dora")` returns a username that is free."""
    return lambda like: f"{like}_{next(_numbers)}"


@pytest.fixture
def store(site: Any) -> Store:
    return connect()


@pytest.fixture
def alice(store: Store, name: Callable[[str], str]) -> Login:
    return register(store, name("Alice"))


@pytest.fixture
def bob(store: Store, name: Callable[[str], str]) -> Login:
    return register(store, name("bob"))


@pytest.fixture
def carol(store: Store, name: Callable[[str], str]) -> Login:
    return register(store, name("carol"))


@pytest.fixture
def page(window: Callable[..., Page], alice: Login) -> Page:
    """alice's window, at her home page."""
    return window(alice, at="/")
