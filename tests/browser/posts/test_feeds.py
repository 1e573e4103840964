"""Where a page has a feed, a feed reader finds it, and so does somebody who looks for it."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import post, said, write


@pytest.mark.parametrize("cached_page", ["a profile", "everybody"])
def test_a_page_leads_to_its_feed_which_has_its_posts(window, alice, page_of):
    page = window(alice)
    page.goto("/")
    write(page, f"Hello feed readers of {page_of}")
    said(page, "Posted.")
    page.goto(f"/@{alice.user.username}/" if page_of == "a profile" else "/timeline/")
    expect(post(page, f"Hello feed readers of {page_of}")).to_have_count(1)
    told = page.locator("link[rel=alternate]").evaluate_all("links => links.map(link => [link.type, link.href])")
    assert [kind for kind, _ in told] == ["application/atom+xml", "application/rss+xml"]
    for kind, address in told:
        answer = page.request.get(address)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(kind)
        assert f"Hello feed readers of {page_of}" in answer.text()
    link = page.get_by_role("main").get_by_role("link", name="RSS", exact=True)
    assert link.evaluate("link => link.href") == told[0][1]
