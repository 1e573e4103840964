"""New posts as an open page announces them."""

import re

A_WHILE = 120_000  # milliseconds, longer than a page waits until it asks again


def told(page, number):
    """What the page says has come."""
    return page.get_by_role("link", name=re.compile(rf"^{number} new posts?$"))


def wait_a_while(page):
    """Until the page has asked, and the answer is there."""
    with page.expect_response(re.compile(r"/new/\?after=\d+")) as asked:
        page.clock.fast_forward(A_WHILE)
    asked.value.finished()
