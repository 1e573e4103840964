"""A developer looks at the keys of the site: from the families to a key, and on to the people that it names."""

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.browser.support.looks import EVERY_LOOK, look_at
from tests.browser.support.page_kinds import INSPECTED
from tests.browser.support.served import serving
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows


@pytest.fixture(scope="module")
def site(real_server, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("inspected"), settings.REDIS_URL, INSPECT="1") as site:
        yield site


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_a_developer_goes_from_the_families_to_a_person(window, alice, bob, store, raw, scripts):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    pid = publish(raw, store, bob, "Look at the keys")
    page = window(java_script_enabled=scripts)
    page.goto("/inspect/")
    main = page.get_by_role("main")
    expect(main.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    expect(main.get_by_role("heading", name="post:<pid>", exact=True)).to_be_visible()
    page.get_by_label("Open a key").fill(f"following:{alice.user.uid}")
    main.get_by_role("button", name="Open").click()
    expect(main.get_by_role("heading", name=f"following:{alice.user.uid}")).to_be_visible()
    expect(main.get_by_text("uids this user follows, score = since when (unix s)")).to_be_visible()
    expect(main.get_by_text("listpack")).to_be_visible()
    main.get_by_role("link", name=str(bob.user.uid), exact=True).click()
    expect(main.get_by_role("heading", name=f"user:{bob.user.uid}")).to_be_visible()
    expect(main.get_by_text("32 bytes, not shown").first).to_be_visible()
    page.goto(f"/inspect/updates:{bob.user.uid}")
    main.get_by_role("listitem").get_by_role("link", name=f"@{bob.user.username}").first.click()
    expect(page.get_by_text("Look at the keys")).to_be_visible()
    assert page.url.endswith(f"/{pid}/")


def test_a_developer_sees_what_is_their_own(window, alice, bob, store, raw):
    raw.zadd(f"bookmarks:{alice.user.uid}", {"1": 1_700_000_000})
    for login, is_shown in ((alice, True), (bob, False)):
        page = window(login)
        page.goto(f"/inspect/bookmarks:{alice.user.uid}")
        expect(page.get_by_text("14 November 2023")).to_be_visible(visible=is_shown)
        expect(page.get_by_text("Only the size of this key is shown")).to_be_visible(visible=not is_shown)


@pytest.mark.parametrize("address", INSPECTED)
def test_the_pages_fit_in_both_themes_at_all_widths(window, alice, store, raw, address):
    publish(raw, store, alice, "A post")
    page = window(reduced_motion="reduce")
    page.goto(address.replace("1", str(alice.user.uid)))
    assert look_at(page, EVERY_LOOK) == []


@pytest.mark.gate
def test_each_page_fits_in_one_of_the_looks(window, alice, store, raw, subtests):
    publish(raw, store, alice, "A post")
    page = window(reduced_motion="reduce")
    for address, look in zip(INSPECTED, EVERY_LOOK[1:], strict=False):
        with subtests.test(address):
            page.goto(address.replace("1", str(alice.user.uid)))
            assert look_at(page, [look]) == []
