"""The watch over Chromium's console notices every complaint, except those that a test expects."""

import pytest

from tests.browser.support.console import Console


@pytest.fixture
def heard(chromium, site):
    """The front page, whose console is watched, and nothing more."""
    console = Console(site.browser.origin)
    context = chromium.new_context(base_url=site.browser.origin)
    console.watch(context)
    page = context.new_page()
    page.goto("/")
    yield page, console
    context.close()


def complaints(heard):
    page, console = heard
    console.settle(page.context)
    return console.complaints()


def test_a_page_that_is_all_right_is_quiet(heard):
    assert complaints(heard) == []


def test_what_is_missing_is_complained_of_unless_it_is_expected(heard):
    page, console = heard
    page.goto("/nobody-home/")
    [line] = complaints(heard)
    assert line.startswith("/nobody-home/: Failed to load resource: the server responded with a status of 404 (")
    console.expects(503, "/nobody-home/")
    console.expects(404, "/")
    assert complaints(heard) == [line]
    console.expects(404, "/nobody-home/")
    assert complaints(heard) == []


@pytest.mark.gate
def test_a_script_that_fails_is_complained_of(heard):
    page = heard[0]
    with page.expect_event("pageerror"):
        page.evaluate("() => { setTimeout(() => { throw new Error('a fault of ours'); }); }")
    assert any("a fault of ours" in line for line in complaints(heard))


def test_an_inline_script_is_refused_and_complained_of(heard):
    page = heard[0]
    page.evaluate(
        "() => { const it = document.createElement('script'); it.text = 'window.ran = 1'; document.body.append(it); }"
    )
    assert page.evaluate("() => window.ran") is None
    assert any("Content Security Policy" in line for line in complaints(heard))


def test_whoever_asks_a_stranger_is_complained_of(heard):
    page = heard[0]
    page.route("https://stranger.invalid/*", lambda route: route.fulfill(body=""))
    page.context.new_page().goto("data:text/html,<img src='https://stranger.invalid/seen.png'>")
    assert any("https://stranger.invalid/seen.png" in line for line in complaints(heard))
