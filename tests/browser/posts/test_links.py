"""Addresses and names in posts are links. Other markup in a post is shown as text."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import post, posted

AS_SHOWN = """link => {
  const text = link.firstChild, places = [...text.data].map((char, at) => {
    const range = document.createRange()
    range.setStart(text, at)
    range.setEnd(text, at + 1)
    return [range.getBoundingClientRect().left, char]
  })
  return places.sort((one, other) => one[0] - other[0]).map(place => place[1]).join('')
}"""


@pytest.mark.parametrize("address", ["https://evil.de/א/https://paypal.com/login", "א.de/x/https://paypal.com/login"])
def test_the_host_of_an_address_stands_first_in_a_text_from_right_to_left(address, page):
    posted(page, f"א {address}")
    link = post(page, "paypal.com/login").locator(".body a")
    shown = link.evaluate(AS_SHOWN)  # without the end, which is shortened
    assert len(shown) >= 30
    assert address.startswith(shown)


def test_an_address_is_a_link_that_vouches_for_nothing(page):
    posted(page, "See https://example.org/a?b=1&c=2, and <b>nothing</b> bold")
    link = post(page, "See https://").get_by_role("link", name="example.org/a?b=1&c=2")
    expect(link).to_have_attribute("href", "https://example.org/a?b=1&c=2")
    assert set(link.get_attribute("rel").split()) >= {"nofollow", "ugc", "noopener"}
    expect(post(page, "See https://").locator("b")).to_have_count(0)
    expect(post(page, "<b>nothing</b> bold")).to_have_count(1)


def test_a_name_leads_to_the_profile(bob, page):
    posted(page, f"Hello @{bob.user.username}!")
    post(page, "Hello @").get_by_role("link", name=f"@{bob.user.username}").click()
    expect(page.get_by_role("heading", name=f"@{bob.user.username}", exact=True)).to_be_visible()
