"""Answering a post: on its page, and below its card in a list."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings
from tests.browser.support.steps import composer, held, nothing_scrolls_sideways, post, said, stayed, stays
from tests.browser.support.touch import cut_off
from tests.browser.support.windows import PHONE, sign_in
from tests.support.pictures import picture_file
from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.search.index import Indexing

RED = {"name": "red.png", "mimeType": "image/png", "buffer": picture_file("red")}
REPLY = re.compile("^Reply")


def answer_box(page):
    """The composer of the thread, or below the card."""
    return page.get_by_role("textbox", name=re.compile("reply|answer", re.IGNORECASE))


@pytest.fixture
def answered(raw, store, alice, name):
    """The text of the post that one answers, and its id."""
    text = name("How are you")
    return text, publish(raw, store, alice, text)


@pytest.fixture
def page(window, answered, bob):
    return window(bob, at="/timeline/")


@pytest.mark.gate
def test_the_reply_link_opens_a_composer_below_the_card(page, raw, answered):
    text, pid = answered
    post(page, text).get_by_role("link", name=REPLY).click()
    expect(answer_box(page)).to_be_focused()
    answer_box(page).fill("Well said")
    page.get_by_role("button", name="Reply", exact=True).click()
    said(page, "Posted.")
    expect(post(page, text)).to_have_count(1)
    expect(post(page, "Well said")).to_have_count(1)
    assert raw.zcard(f"replies_to:{pid}") == 1


def test_a_composer_below_the_last_card_of_the_window_comes_into_view(page, answered):
    card = post(page, answered[0])
    box = card.bounding_box()
    page.set_viewport_size({"width": 1280, "height": max(420, int(box["y"] + box["height"] + 20))})
    card.get_by_role("link", name=REPLY).click()
    expect(answer_box(page)).to_be_focused()
    expect(page.get_by_role("button", name="Reply", exact=True)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("path", ["/timeline/", "/@{author}/", "/search/?q=answer", "/@{author}/{pid}/"])
def test_on_a_phone_it_is_as_wide_as_the_window(window, store, raw, alice, bob, path):
    pid = publish(raw, store, alice, "Answer me")
    Posts(store).publish(alice.user.uid, NewPost("An answer", reply_to=pid), "0123456789abcdef")
    Indexing(store).index([pid])
    page = window(bob, at=path.format(author=alice.user.username, pid=pid), viewport=PHONE)
    page.get_by_role("article").last.get_by_role("link", name=REPLY).click()
    expect(answer_box(page).last).to_be_focused()
    nothing_scrolls_sideways(page)
    assert cut_off(page) == []


def test_each_composer_of_a_page_has_its_own_name_and_counter(window, store, raw, alice, bob):
    """The page of a post has one, and a reply below it gets another."""
    pid = publish(raw, store, alice, "Answer me")
    Posts(store).publish(alice.user.uid, NewPost("An answer", reply_to=pid), "0123456789abcdef")
    page = window(bob, at=f"/@{alice.user.username}/{pid}/")
    page.get_by_role("article").last.get_by_role("link", name=REPLY).click()
    boxes = page.get_by_role("textbox", name="Your reply")
    expect(boxes).to_have_count(2)
    expect(boxes.last).to_be_focused()
    page.keyboard.type("four")
    assert page.locator("output").all_inner_texts() == ["280", "276"]
    assert findings(page) == []


@pytest.mark.parametrize("query", ["", "?after=1"], ids=["the first page", "a later page of replies"])
def test_on_the_page_of_the_post_one_writes_in_the_composer_that_it_has(page, alice, answered, query):
    page.goto(f"/@{alice.user.username}/{answered[1]}/{query}")
    stays(page)
    post(page, answered[0]).get_by_role("link", name=REPLY).click()
    page.keyboard.type("like it")
    expect(answer_box(page)).to_have_value("like it")
    stayed(page)


def test_a_second_click_closes_it_and_a_third_brings_the_text_back(page, answered):
    link = post(page, answered[0]).get_by_role("link", name=REPLY)
    link.click()
    answer_box(page).fill("Half an ans")
    link.click()
    expect(answer_box(page)).to_have_count(0)
    link.click()
    expect(answer_box(page)).to_have_value("Half an ans")
    expect(composer(page)).to_have_value("")


def test_escape_closes_it_and_leads_back_to_the_link_which_brings_text_and_pictures_back(page, answered):
    link = post(page, answered[0]).get_by_role("link", name=REPLY)
    link.click()
    answer_box(page).fill("Half an ans")
    page.locator("summary").filter(has_text="Pictures").click()
    page.get_by_label("Up to four pictures").set_input_files(RED)
    description = page.get_by_role("textbox", name="Description of picture 1")
    expect(description).to_be_focused()
    page.keyboard.type("A blue wall")
    page.keyboard.press("Escape")
    expect(answer_box(page)).to_have_count(0)
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(answer_box(page)).to_be_focused()
    expect(answer_box(page)).to_have_value("Half an ans")
    expect(description).to_have_value("A blue wall")
    link.click()
    expect(answer_box(page)).to_have_count(0)


def test_escape_closes_the_list_of_names_before_the_form_and_no_form_of_a_page(page, answered, bob):
    post(page, answered[0]).get_by_role("link", name=REPLY).click()
    expect(answer_box(page)).to_be_focused()
    page.keyboard.type(f"@{bob.user.username[:-1]}")
    expect(page.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(answer_box(page)).to_be_focused()
    page.goto(f"/compose/?reply_to={answered[1]}")
    answer_box(page).press("Escape")
    expect(answer_box(page)).to_be_focused()


def test_the_text_of_an_answer_stays_with_its_post(page, alice, answered):
    composer(page).fill("A post of my own")
    page.goto(f"/@{alice.user.username}/{answered[1]}/")
    expect(answer_box(page)).to_have_value("")
    answer_box(page).fill("An answer")
    page.goto("/timeline/")
    expect(composer(page)).to_have_value("A post of my own")


def test_two_clicks_before_an_answer_open_one_composer(page, answered):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/compose/?reply_to=" in request.url else None)
    post(page, answered[0]).get_by_role("link", name=REPLY).evaluate("it => { it.click(); it.click(); }")
    expect(answer_box(page)).to_be_focused()
    expect(answer_box(page)).to_have_count(1)
    assert len(asked) == 1


def test_a_composer_that_comes_late_does_not_take_the_focus(page, answered):
    waiting = held(page, "**/compose/**")
    with page.expect_request("**/compose/**"):
        post(page, answered[0]).get_by_role("link", name=REPLY).click()
    composer(page).click()
    page.keyboard.type("My own ")
    waiting.pop().continue_()
    expect(answer_box(page)).to_be_visible()
    page.keyboard.type("thought")
    expect(composer(page)).to_have_value("My own thought")


def test_an_answer_that_breaks_off_leads_to_the_page_of_the_post(page, alice, answered):
    page.evaluate("() => { Response.prototype.text = () => Promise.reject(new TypeError('network error')); }")
    post(page, answered[0]).get_by_role("link", name=REPLY).click()
    expect(page).to_have_url(f"/@{alice.user.username}/{answered[1]}/#reply")


def test_a_page_of_one_user_opens_no_composer_of_another(page, alice, site, answered):
    sign_in(page.context, alice, site.browser.origin)
    post(page, answered[0]).get_by_role("link", name=REPLY).click()
    expect(page).to_have_url(f"/@{alice.user.username}/{answered[1]}/#reply")
