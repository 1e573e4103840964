"""What people do on the site, as they see it: by names and roles, never by classes."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from tests.support.people import PASSWORD, Login

AGE = re.compile(r"^(now|\d+ (min|h))$")  # of a young post on a card
SLOW = re.compile(r"\bslow\b")  # the class of a page that waits for a slow answer


def sign_up(page: Page, name: str) -> None:
    page.goto("/register/")
    fill_in_registration(page, name)
    said(page, f"Welcome, {name}!")
    page.get_by_role("link", name="Skip", exact=True).click()


def fill_in_registration(page: Page, name: str, password: str = PASSWORD, again: str | None = None) -> None:
    main = page.get_by_role("main")
    main.get_by_label("Username").fill(name)
    main.get_by_label("Password", exact=True).fill(password)
    main.get_by_label("Repeat password").fill(password if again is None else again)
    main.get_by_role("button", name="Register").click()


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.goto("/login/")
    fill_in_login(page, name, password)


def fill_in_login(page: Page, name: str, password: str = PASSWORD) -> None:
    main = page.get_by_role("main")
    main.get_by_label("Username").fill(name)
    main.get_by_label("Password").fill(password)
    main.get_by_role("button", name="Log in").click()


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="What's new?")


def write(page: Page, text: str) -> None:
    """Post it from the home page."""
    composer(page).fill(text)
    page.get_by_role("button", name="Post", exact=True).click()


def posted(page: Page, text: str) -> None:
    """Post it from the home page, and see that it was posted."""
    composer(page).fill(text)
    send(page)


def send(page: Page) -> None:
    """Post what stands in the form, and see that it was posted."""
    page.get_by_role("button", name="Post", exact=True).click()
    said(page, "Posted.")


def post(page: Page, text: str) -> Locator:
    """The post with that text."""
    return page.get_by_role("article").filter(has_text=text)


def more(its: Locator) -> Locator:
    """What opens the menu of a post; without scripts, the page with all actions on it."""
    return its.get_by_role("link", name="More", exact=True)


def said(page: Page, text: str) -> None:
    """The page tells it to everybody, screen readers too."""
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def follow_button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=re.compile(rf"^Follow( {name})?$"))


def unfollow_button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=re.compile(rf"Unfollow( {name})?$"))


def go_to_profile(page: Page, name: str) -> None:
    """By way of everybody's page, where whoever is new is listed."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Everyone").click()
    page.get_by_role("complementary").get_by_role("link", name=f"@{name}", exact=True).click()
    expect(page.get_by_role("heading", name=f"@{name}", exact=True)).to_be_visible()


def account_menu(page: Page) -> Locator:
    """The menu of the signed-in user, which is opened."""
    menu = page.get_by_role("banner").get_by_role("group")
    if not menu.get_by_role("button", name="Log out").is_visible():
        menu.locator("summary").click()
    return menu


def log_out(page: Page) -> None:
    account_menu(page).get_by_role("button", name="Log out").click()


def log_out_elsewhere(raw: Any, login: Login) -> None:
    """The session ends; no open window has heard of it."""
    raw.hset(f"user:{login.user.uid}", "auth", "from another device")


def nothing_scrolls_sideways(page: Page) -> None:
    width, shown = page.evaluate("() => [document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]")
    assert width <= shown, f"{page.url} is {width} px wide in a window of {shown}"


def stays(page: Page) -> None:
    """From here on a reload or another page would be noticed by `stayed`."""
    page.evaluate("() => { window.stayed = true; }")


def stayed(page: Page) -> None:
    assert page.evaluate("() => window.stayed === true"), f"{page.url} was loaded anew"


def held(page: Page, address: str | re.Pattern[str]) -> list[Route]:
    """The requests of a page for such addresses: from here on each waits until a test lets it go on."""
    waiting: list[Route] = []
    page.route(address, lambda route: waiting.append(route))
    return waiting


def let_slow_answers_come(
    page: Page, waiting: list[Route], answered: Callable[[Route], None] = Route.continue_
) -> None:
    """The `held` requests are answered, and the page has done what it does with the answers: as long as one lacks, a
    line at the top says that it is slow."""
    expect(page.locator("html")).to_have_class(SLOW)
    while waiting:
        answered(waiting.pop())
    expect(page.locator("html")).not_to_have_class(SLOW)
