"""A page with feeds names both formats in its head, and links to its RSS feed."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import post, posted


@pytest.mark.parametrize("whose", ["a profile", "everyone"])
def test_a_page_leads_to_its_feed_which_has_its_posts(alice, whose, page):
    posted(page, f"Hello feed readers of {whose}")
    page.goto(f"/@{alice.user.username}/" if whose == "a profile" else "/timeline/")
    expect(post(page, f"Hello feed readers of {whose}")).to_have_count(1)
    feeds = page.locator("link[rel=alternate]").evaluate_all("links => links.map(link => [link.type, link.href])")
    assert [kind for kind, _ in feeds] == ["application/atom+xml", "application/rss+xml"]
    for kind, address in feeds:
        answer = page.request.get(address)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(kind)
        assert f"Hello feed readers of {whose}" in answer.text()
    link = page.get_by_role("main").get_by_role("link", name="RSS", exact=True)
    assert link.evaluate("link => link.href") == dict(feeds)["application/rss+xml"]
