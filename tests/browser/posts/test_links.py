"""Links in a text from right to left: the host of an address is read first, and tags stand where the text has them."""

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


@pytest.mark.parametrize("text", ["#صباح_الخير #السعودية", "صباح الخير!\n\n#صباح_الخير #السعودية"])
def test_tags_alone_in_the_last_line_of_a_text_from_right_to_left_begin_at_the_right(text, page):
    posted(page, text)
    body = post(page, "#السعودية").locator(".body")
    right, first, second = (
        one.evaluate("element => element.getBoundingClientRect().right")
        for one in (body, *body.get_by_role("link").all())
    )
    assert right == pytest.approx(first, abs=1)
    assert second < first
