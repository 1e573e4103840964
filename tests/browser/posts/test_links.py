"""The host of an address in a post is read first, whichever way the text runs."""

import pytest

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
