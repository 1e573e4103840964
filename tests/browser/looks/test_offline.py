"""Without a connection a browser that has been here shows a page that says so, and keeps nothing that people wrote."""

from playwright.sync_api import expect

from tests.browser.support.steps import post, stayed, stays
from tests.support.stored_keys import publish

READY = "() => navigator.serviceWorker.ready.then(({ active }) => active.state)"
KEPT = """async () => {
  const kept = [];
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys()) kept.push(new URL(url).pathname);
  return kept;
}"""


def test_offline_there_is_one_page_and_nothing_that_people_wrote(window, store, raw, alice, console):
    publish(raw, store, alice, "Seen only online")
    page = window(alice, at="/", service_workers="allow")
    page.evaluate(READY)
    page.reload()
    expect(post(page, "Seen only online")).to_be_visible()
    kept = page.evaluate(KEPT)
    assert "/offline/" in kept
    assert all(path == "/offline/" or path.startswith("/static/") for path in kept)
    console.expects_no_connection()
    page.context.set_offline(True)
    page.goto("/timeline/")
    expect(page.get_by_role("heading", name="You are offline")).to_be_visible()
    expect(page.get_by_text(alice.user.username)).to_have_count(0)
    assert page.evaluate("() => getComputedStyle(document.querySelector('.sheet')).borderTopStyle") == "solid"
    page.context.set_offline(False)
    page.get_by_role("link", name="Try again").click()
    expect(page).to_have_url("/timeline/")
    expect(post(page, "Seen only online")).to_be_visible()


def test_what_needs_the_site_says_so_and_the_page_stays(page, store, raw, alice, console):
    for number in range(25):
        publish(raw, store, alice, f"Number {number}.")
    page.reload()
    console.expects_no_connection()
    stays(page)
    page.context.set_offline(True)
    card = post(page, "Number 24.")
    for link in ("More", "Reply", "Repost"):
        card.get_by_role("link", name=link, exact=True).click()
        said_alone(page)
    page.get_by_role("link", name="Older posts").click()
    said_alone(page)
    stayed(page)
    page.context.set_offline(False)
    page.get_by_role("link", name="Older posts").click()
    expect(post(page, "Number 0.")).to_be_visible()
    stayed(page)


def said_alone(page):
    """The page says that it has not reached the site. The next time it says so anew."""
    message = page.get_by_role("status").get_by_text("The site could not be reached. Try again in a moment.")
    expect(message).to_be_visible()
    message.evaluate("it => it.remove()")
