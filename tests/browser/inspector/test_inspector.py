"""A developer opens the inspector at the end of a page, follows a key, and sees what a post has sent. The keys of the
site lead from the families to a key, and on to the people that it names."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.browser.support.looks import EVERY_LOOK, WIDTHS, look_at
from tests.browser.support.page_kinds import INSPECTED
from tests.browser.support.served import PATIENCE, serving
from tests.browser.support.steps import follow_button, unfollow_button, write
from tests.support.processes.processes import wait_until
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

LINE = re.compile(r"^\d+ commands?, \d+ round trips?, \d+\.\d ms")


@pytest.fixture(scope="module")
def site(real_server, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("inspected"), settings.REDIS_URL, INSPECT="1") as site:
        yield site


def inspector(page):
    return page.get_by_role("complementary", name="Inspector")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_developer_goes_from_a_page_to_a_key(window, alice, scripts):
    page = window(alice, at="/", java_script_enabled=scripts)
    key = inspector(page).get_by_role("link", name=f"posts:{alice.user.uid}", exact=True).first
    expect(key).to_be_hidden()
    inspector(page).get_by_text(LINE).click()
    expect(inspector(page).get_by_text("Viewer._checking").first).to_be_visible()
    expect(inspector(page).get_by_text("O(log(N)+M)").first).to_be_visible()
    key.click()
    expect(page.get_by_role("heading", name=f"posts:{alice.user.uid}")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_page_after_a_post_says_what_the_post_and_the_worker_have_sent(window, store, alice, bob, scripts):
    Follows(store).follow(bob.user.uid, alice.user.uid)
    page = window(alice, at="/", java_script_enabled=scripts)
    said = inspector(page).get_by_text(re.compile(r"Your post: \d+ round trips, 2 pushes to homes"))
    job = inspector(page).get_by_text("The worker, job index")

    def says_what_the_worker_did():
        """False when the worker of another site, which keeps no records, has taken the job."""
        write(page, "hello, Redis")
        expect(said).to_be_visible()
        return any(job.count() or not page.reload() for _ in range(20))

    wait_until(says_what_the_worker_did, "the worker of this site to index a post", 5 * PATIENCE)
    said.click()
    expect(job).to_be_visible()
    page.reload()
    expect(said).to_have_count(0)


def test_a_change_in_place_is_shown_in_place(window, alice, bob):
    page = window(alice, at=f"/@{bob.user.username}/")
    follow_button(page, bob.user.username).click()
    expect(unfollow_button(page, bob.user.username)).to_be_visible()
    expect(inspector(page).get_by_text(re.compile(r"Your last change: \d+ round trips"))).to_be_visible()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.gate)])
def test_it_fits_in_both_themes_at_all_widths(window, alice, theme):
    page = window(alice, at="/", reduced_motion="reduce")  # axe must not see a colour in the middle of a transition
    write(page, "hello, axe")
    inspector(page).get_by_text(LINE).click()
    assert look_at(page, [(theme, width) for width in WIDTHS]) == []


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_a_developer_goes_from_the_families_to_a_person(window, alice, bob, store, raw, scripts):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    pid = publish(raw, store, bob, "Look at the keys")
    page = window(at="/inspect/", java_script_enabled=scripts)
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


def test_the_button_for_more_keys_keeps_its_distance_from_the_form_below(window, raw):
    others = [f"of_another_program:{number}" for number in range(2_000)]
    raw.mset(dict.fromkeys(others, ""))
    page = window(at="/inspect/")
    above = page.get_by_role("link", name="Look at more keys").bounding_box()
    below = page.get_by_role("main").locator("form").bounding_box()
    raw.delete(*others)
    assert below["y"] - (above["y"] + above["height"]) >= 16


def test_a_developer_sees_what_is_their_own(window, alice, bob, store, raw):
    raw.zadd(f"bookmarks:{alice.user.uid}", {"1": 1_700_000_000})
    for login, is_shown in ((alice, True), (bob, False)):
        page = window(login, at=f"/inspect/bookmarks:{alice.user.uid}")
        expect(page.get_by_text("14 November 2023")).to_be_visible(visible=is_shown)
        expect(page.get_by_text("Only the size of this key is shown")).to_be_visible(visible=not is_shown)


@pytest.mark.parametrize("address", INSPECTED)
def test_the_pages_fit_in_both_themes_at_all_widths(window, alice, store, raw, address):
    publish(raw, store, alice, "A post")
    page = window(at=address.replace("1", str(alice.user.uid)), reduced_motion="reduce")
    assert look_at(page, EVERY_LOOK) == []


@pytest.mark.gate
def test_each_page_fits_in_one_of_the_looks(window, alice, store, raw, subtests):
    publish(raw, store, alice, "A post")
    page = window(reduced_motion="reduce")
    for address, look in zip(INSPECTED, EVERY_LOOK[1:], strict=False):
        with subtests.test(address):
            page.goto(address.replace("1", str(alice.user.uid)))
            assert look_at(page, [look]) == []
