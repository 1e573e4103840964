"""A message lies over the posts while one scrolls. What it does not cover can be pressed."""

import pytest

from tests.browser.support.steps import posted, said
from tests.browser.support.windows import PHONE, WIDE
from tests.support.stored_keys import publish

BESIDE = """
() => {
  const message = document.querySelector("#messages > *").getBoundingClientRect();
  const column = document.getElementById("messages").getBoundingClientRect();
  const middle = (message.top + message.bottom) / 2;
  const at = (x) => document.elementFromPoint(x, middle).closest("#messages, main")?.id;
  return [at((column.left + message.left) / 2), at((message.left + message.right) / 2)];
}
"""


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_what_lies_beside_a_message_can_be_pressed(window, alice, raw, store, size):
    for number in range(15):
        publish(raw, store, alice, f"Number {number}.")
    page = window(alice, viewport=size, reduced_motion="reduce")
    page.goto("/")
    posted(page, "Something to tell")
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 200")
    said(page, "Posted.")
    assert page.evaluate(BESIDE) == ["main", "messages"]
