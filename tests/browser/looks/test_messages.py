"""A message lies over the posts while one scrolls. What it does not cover can be pressed."""

import secrets

import pytest
from playwright.sync_api import expect

from tests.browser.support.keyboard import press_tab_until
from tests.browser.support.steps import post, posted, said
from tests.browser.support.windows import PHONE, WIDE
from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

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
    page = window(alice, at="/", viewport=size, reduced_motion="reduce")
    posted(page, "Something to tell")
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 200")
    said(page, "Posted.")
    assert page.evaluate(BESIDE) == ["main", "messages"]


def test_no_message_hides_the_answer_to_which_the_page_goes(window, alice, bob, raw, store):
    pid = publish(raw, store, alice, "Once more?")
    for number in range(9):
        Posts(store).publish(bob.user.uid, NewPost(f"Number {number}.", reply_to=pid), secrets.token_hex(8))
    page = window(alice, at=f"/@{alice.user.username}/{pid}/", java_script_enabled=False)
    page.get_by_role("textbox", name="Your reply").fill("The last word")
    page.get_by_role("button", name="Reply", exact=True).click()
    said(page, "Posted.")
    author = post(page, "The last word").get_by_role("link", name=alice.user.username).first
    expect(author).to_be_in_viewport(ratio=1)
    message = page.get_by_text("Posted.", exact=True).bounding_box()
    assert author.bounding_box()["y"] >= message["y"] + message["height"]


def middle(box):
    return box["y"] + box["height"] / 2


def test_no_message_hides_what_has_the_focus(window, alice, raw, store):
    for number in range(5):
        publish(raw, store, alice, f"Number {number}.")
    page = window(alice, at="/", viewport=PHONE, reduced_motion="reduce")
    posted(page, "Something to tell")
    message = page.get_by_text("Posted.", exact=True).bounding_box()
    button = post(page, "Number 3.").get_by_role("button", name="Like")
    height = PHONE["height"] + round(middle(button.bounding_box()) - middle(message))
    page.set_viewport_size({"width": PHONE["width"], "height": height})  # now the message lies over the button
    press_tab_until(page, button)
