"""A developer opens the inspector at the end of a page, follows a key, and sees what a post has sent."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.browser.support.looks import WIDTHS, look_at
from tests.browser.support.served import PATIENCE, serving
from tests.browser.support.steps import follow_button, unfollow_button, write
from tests.support.processes.processes import wait_until
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
    page = window(alice, java_script_enabled=scripts)
    page.goto("/")
    key = inspector(page).get_by_role("link", name=f"posts:{alice.user.uid}", exact=True).first
    expect(key).to_be_hidden()
    inspector(page).get_by_text(LINE).click()
    expect(inspector(page).get_by_text("Viewer.ask").first).to_be_visible()
    expect(inspector(page).get_by_text("O(log(N)+M)").first).to_be_visible()
    key.click()
    expect(page.get_by_role("heading", name=f"posts:{alice.user.uid}")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_page_after_a_post_says_what_the_post_and_the_worker_have_sent(window, store, alice, bob, scripts):
    Follows(store).follow(bob.user.uid, alice.user.uid)
    page = window(alice, java_script_enabled=scripts)
    page.goto("/")
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
    page = window(alice)
    page.goto(f"/@{bob.user.username}/")
    follow_button(page, bob.user.username).click()
    expect(unfollow_button(page, bob.user.username)).to_be_visible()
    expect(inspector(page).get_by_text(re.compile(r"Your last change: \d+ round trips"))).to_be_visible()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.gate)])
def test_it_fits_in_both_themes_at_all_widths(window, alice, theme):
    page = window(alice, reduced_motion="reduce")  # axe must not see a colour in the middle of a transition
    page.goto("/")
    write(page, "hello, axe")
    inspector(page).get_by_text(LINE).click()
    assert look_at(page, [(theme, width) for width in WIDTHS]) == []
