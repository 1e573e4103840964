"""`.ci/run` has no time for all stories in Chromium. Those that it runs see every page, in both themes, at three widths
and in every language."""

import dataclasses
import itertools

from django.conf import settings
from django.urls import get_resolver, resolve

from tests.browser.support.looks import THEMES, WALKS, WIDTHS
from tests.browser.support.page_kinds import ADDRESSES, INSPECTED, PAGES
from tests.browser.support.world import World

LANGUAGES = [code for code, _ in settings.LANGUAGES]
# What is read by programs, or by a script of a page.
NO_PAGES = {"livez", "readyz", "robots", "security_txt", "sitemap", "sitemap_part"}
NO_PAGES |= {"timeline_atom", "timeline_rss", "profile_atom", "profile_rss", "tag_atom"}
NO_PAGES |= {"manifest", "service_worker", "change_password"}
NO_PAGES |= {"api", "nodeinfo", "nodeinfo_links", "oauth_token", "oauth_revoke", "oauth_metadata"}
NO_PAGES |= {"arrivals", "news", "complete", "download", "book_picture", "media", "passkey_login"}
NO_PAGES |= {"second_step", "confirm"}  # for people with a second factor: people/test_second_factors.py looks at them
WALKED = '@pytest.mark.gate\n@pytest.mark.parametrize("walk", WALKS'
LOOKED_AT = "@pytest.mark.gate\ndef test_each_page_fits_in_one_of_the_looks"


def view(path):
    """The name of the view behind an address, whose `{me}` and the like may be anything."""
    anything = dict.fromkeys((field.name for field in dataclasses.fields(World)), "1")
    return resolve(path.format(**anything).partition("?")[0]).url_name


def test_every_address_of_the_site_is_among_the_pages():
    opened = {view(page.path) for page in ADDRESSES.values()} | set(map(view, INSPECTED))
    answers_get = {
        pattern.name for pattern in get_resolver().url_patterns if not getattr(pattern.callback, "is_change", False)
    }
    answers_get = {name for name in answers_get if not name.endswith("_slash")}  # the same once more
    assert answers_get - opened == NO_PAGES


def test_every_page_is_on_one_walk():
    assert sorted(name for walk in WALKS for name in walk.pages()) == sorted(PAGES)


def test_the_walks_see_each_language_in_both_themes_at_each_width_and_each_width_in_both_themes():
    assert {(walk.language, walk.theme) for walk in WALKS} == set(itertools.product(LANGUAGES, THEMES))
    assert {(walk.language, walk.width) for walk in WALKS} == set(itertools.product(LANGUAGES, WIDTHS))
    assert {(walk.theme, walk.width) for walk in WALKS} == set(itertools.product(THEMES, WIDTHS))


def test_ci_goes_on_every_walk_and_looks_at_the_pages_of_the_inspector():
    stories = settings.BASE_DIR / "tests/browser"
    assert WALKED in (stories / "looks/test_accessibility.py").read_text()
    assert LOOKED_AT in (stories / "inspector/test_inspector.py").read_text()
