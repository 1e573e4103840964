"""The site's own words: where they stand, who changes them, and where they are shown."""

import re
from io import StringIO

import pytest
import redis
from django.conf import settings
from django.core.management import CommandError, call_command

from accounts.community.acts import change_site
from accounts.community.log import Log
from accounts.community.views import SiteForm
from retwis_site import identity
from retwis_site.store.client import answer
from retwis_site.store.local_cache import Memory
from tests.support.command_output import refuses
from tests.support.http.page_text import page_of, text_of
from tests.support.stores.seam import broken_store
from timeline.relations.relations import RELATIONS


def test_the_name_is_fixed_in_no_template():
    named = [path.name for path in (settings.FILES_DIR / "templates").rglob("*.html") if "Retwis" in path.read_text()]
    assert named == []


def test_without_words_the_site_has_the_defaults(browser, raw):
    page = browser().get("/login/").content.decode()
    assert "<title>Log in · Retwis</title>" in page
    assert 'data-colour="pine"' in page
    assert "Retwis is a small open microblog" in page


def test_the_command_sets_words_and_every_page_shows_them(browser, alice, raw):
    call_command("site", "name=Ravens <&>", "tagline=For birds", "colour=plum", verbosity=0)
    stored = raw.hgetall("site")
    assert (stored["name"], stored["tagline"], stored["colour"]) == ("Ravens <&>", "For birds", "plum")
    assert raw.zrange("outbox", 0, -1) == []
    for client, address in ((browser(), "/login/"), (browser(alice), "/settings/"), (browser(alice), "/timeline/")):
        page = client.get(address).content.decode()
        assert "· Ravens &lt;&amp;&gt;</title>" in page
        assert 'data-colour="plum"' in page
        assert "For birds" in page
        assert "Retwis" not in page
    assert "Ravens" in browser().get("/nothing/").content.decode()
    assert "Everyone on Ravens" in browser().get("/timeline/atom/").content.decode()


def test_an_empty_value_removes_a_word(store, raw):
    call_command("site", "name=Ravens", verbosity=0)
    call_command("site", "name=", verbosity=0)
    assert not any(raw.hgetall("site").values())
    assert answer(store, identity.ask_stored_site) == identity.DEFAULT


def test_the_command_prints_all_words(raw):
    output = StringIO()
    call_command("site", "registration=closed", stdout=output, stderr=StringIO())
    assert "registration=closed" in output.getvalue()
    assert "name=Retwis" in output.getvalue()


def test_a_change_says_when_every_page_shows_it(raw, capsys):
    call_command("site", "registration=closed")
    assert capsys.readouterr().err.splitlines()[1:] == ["Changed. Every page shows it within 5 seconds."]
    call_command("site")
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("word", "choices"),
    [
        ("registration=maybe", "open, approval, invite, closed"),
        ("colour=pink", "pine, ocean, plum, brick, slate"),
        ("second_factor=all", "staff"),
    ],
)
def test_a_word_that_is_no_choice_is_refused_with_the_choices(raw, word, choices):
    refuses(f"Choose one of: {choices}[.]$", "site", word, verbosity=0)


def test_the_form_offers_each_colour_that_a_site_may_have():
    assert tuple(dict(SiteForm.base_fields["colour"].choices)) == identity.COLOURS


@pytest.mark.parametrize(
    "word", ["name", "nonsense=1", "colour=pink", "registration=maybe", "invites=-1", f"name={41 * 'x'}"]
)
def test_a_word_that_the_form_would_refuse_is_refused(raw, word):
    with pytest.raises(CommandError):
        call_command("site", word, verbosity=0)
    assert raw.exists("site") == 0


def test_a_bad_stored_value_counts_as_absent_and_an_unknown_mode_as_closed():
    assert identity.read({"colour": "pink", "invites": "x", "registration": "?"}) == identity.Site(
        registration="closed"
    )


def test_the_contact_is_a_link_with_and_without_mailto(client, raw):
    """The guide has once said `contact=mailto:...`."""
    for contact in ("alice@retwis.example", "mailto:alice@retwis.example"):
        raw.hset("site", "contact", contact)
        identity.forget()
        for path in ("/about/", "/privacy/"):
            assert '<a href="mailto:alice@retwis.example">alice@retwis.example</a>' in page_of(client.get(path))


def test_an_admin_changes_the_words_and_sees_them_at_once(admin, store, raw):
    form = {"name": "Ravens", "rules": "Be kind\r\n\r\nNo spam"}
    page = admin.post("/moderation/site/", form, follow=True).content.decode()
    assert "Site settings saved." in page
    assert "Ravens</title>" in page
    assert answer(store, identity.ask_stored_site).numbered_rules == ["Be kind", "No spam"]
    [act] = Log(store).page()[0]
    assert (act.by, act.what) == (1, "site:name,rules")
    assert "Site changed: Site name, Rules" in admin.get("/moderation/log/").content.decode()
    in_arabic = admin.get("/moderation/log/", headers={"accept-language": "ar"}).content.decode()
    assert "اسم الموقع، " in in_arabic
    assert '<li dir="auto">No spam</li>' in admin.get("/rules/").content.decode()


def test_an_admin_does_not_undo_what_another_one_has_changed_meanwhile(admin, store, raw):
    change_site(store, {"rules": "Be kind\nNo spam", "tagline": "Birds", "invites": "7"})
    page = admin.get("/moderation/site/").content.decode()
    hidden = re.findall(r'<input type="hidden" name="(initial-\w+)"(?: value="([^"]*)")?', page)
    assert not re.search(r'<input type="hidden"[^>]* aria-', page)  # valid HTML
    shown = {name: value.replace("\n", "\r\n") for name, value in hidden}  # as browsers send it
    form = {name.removeprefix("initial-"): value for name, value in shown.items()}
    change_site(store, {"announcement": "We move tonight.", "rules": "", "invites": "0"})
    refused = admin.post("/moderation/site/", {**shown, **form, "tagline": "", "name": "x" * 41}).content.decode()
    assert f'name="initial-name" value="{shown["initial-name"]}"' in refused
    with broken_store(redis.ConnectionError()):
        failed = admin.post("/moderation/site/", {**shown, **form, "tagline": "Crows"}).content.decode()
    assert all(f'name="{name}"' in failed for name in (*shown, *form))
    admin.post("/moderation/site/", {**shown, **form, "tagline": "", "name": "Ravens"})
    site = answer(store, identity.ask_stored_site)
    assert (site.name, site.tagline, site.announcement, site.rules, site.invites) == (
        "Ravens",
        "",
        "We move tonight.",
        "",
        0,
    )
    assert Log(store).page()[0][0].what == "site:name,tagline"


def test_two_admins_who_change_one_text_are_told_and_may_replace_it(admin, store):
    """Each rule that the first one has added would be gone unseen."""
    change_site(store, {"rules": "Be kind\nNo spam", "invites": "7"})
    shown = {"initial-rules": "Be kind\r\nNo spam", "initial-invites": "7"}
    change_site(store, {"rules": "Be kind\nNo spam\nNo bots", "invites": "9"})
    form = {**shown, "rules": "Be kind", "invites": "9"}  # as the other one has it, too
    page = page_of(admin.post("/moderation/site/", form), 422)
    assert "Saving again replaces what it says now: “Be kind\nNo spam\nNo bots”" in page
    assert page.count("Saving again") == 1
    assert answer(store, identity.ask_stored_site).numbered_rules == ["Be kind", "No spam", "No bots"]
    [hidden] = re.findall(r'name="initial-rules" value="([^"]*)"', page)
    admin.post("/moderation/site/", {**form, "initial-rules": hidden.replace("\n", "\r\n")})
    assert answer(store, identity.ask_stored_site).numbered_rules == ["Be kind"]


def test_what_stays_as_it_is_is_not_written_and_not_in_the_log(admin, store, raw):
    form = {"name": "Retwis", "colour": "pine", "registration": "open", "invites": "5"}  # as the page shows them
    assert admin.post("/moderation/site/", form).status_code == 302
    assert raw.exists("site") == 0
    admin.post("/moderation/site/", {**form, "invites": "0"})
    admin.post("/moderation/site/", {**form, "invites": "0"})
    assert [act.what for act in Log(store).page()[0]] == ["site:invites"]
    assert raw.hgetall("site") == {"invites": "0"}


def test_a_wrong_word_is_a_422_with_what_was_typed(admin, raw):
    assert "x" * 41 in page_of(admin.post("/moderation/site/", {"name": "x" * 41}), 422)


def test_a_text_of_the_site_is_typed_in_its_own_direction(admin):
    fields = re.findall(r"<(?:input type=.text|textarea)[^>]*>", page_of(admin.get("/moderation/site/")))
    names = {re.search(r'name="(\w+)"', field)[1] for field in fields if 'dir="auto"' in field}
    assert names == {"name", "tagline", "announcement", "about", "rules", "privacy", "contact"}


def test_an_announcement_is_shown_until_it_is_dismissed(browser, member, bob, raw):
    raw.hset("site", "announcement", "We move on Sunday")
    assert "We move on Sunday" in member.get("/timeline/").content.decode()
    assert "We move on Sunday" in browser().get("/timeline/").content.decode()
    member.post("/announcement/dismiss/", {"announcement": "no name"})
    assert not raw.hexists("user:1", "dismissed")
    member.post("/announcement/dismiss/", {"announcement": "x" * 99})
    assert "We move on Sunday" in member.get("/timeline/").content.decode()
    name = member.get("/timeline/").content.decode().split('name="announcement" value="')[1].split('"')[0]
    member.post("/announcement/dismiss/", {"announcement": name})
    assert raw.hget("user:1", "dismissed") == name
    assert "We move on Sunday" not in member.get("/timeline/").content.decode()
    assert "We move on Sunday" in browser(bob).get("/timeline/").content.decode()
    raw.hset("site", "announcement", "We have moved")
    Memory.clear_all()
    page = member.get("/timeline/").content.decode()
    assert "We have moved" in page
    [newer] = re.findall(r'name="announcement" value="(\w+)"', page)
    member.post("/announcement/dismiss/", {"announcement": newer})
    member.post("/announcement/dismiss/", {"announcement": name})  # from a window that was opened before
    assert raw.hget("user:1", "dismissed") == newer
    assert "We have moved" not in member.get("/timeline/").content.decode()


def test_an_announcement_is_dismissed_also_where_an_older_one_is_cached(member, raw):
    """Another process may have shown the newer one."""
    raw.hset("site", "announcement", "We have moved")
    page = member.get("/timeline/").content.decode()
    [newer] = re.findall(r'name="announcement" value="(\w+)"', page)
    raw.hset("site", "announcement", "We move on Sunday")
    Memory.clear_all()
    assert "We move on Sunday" in member.get("/timeline/").content.decode()
    raw.hset("site", "announcement", "We have moved")
    member.post("/announcement/dismiss/", {"announcement": newer})
    assert raw.hget("user:1", "dismissed") == newer


def test_an_address_in_an_announcement_is_a_link(browser, raw):
    raw.hset("site", "announcement", "We move: https://example.org/new, <soon>")
    page = browser().get("/timeline/").content.decode()
    assert '<a href="https://example.org/new" rel="nofollow">https://example.org/new</a>, &lt;soon&gt;</p>' in page


def test_an_announcement_that_is_set_anew_is_shown_again_with_the_same_words(member, store, raw):
    for _ in range(2):
        change_site(store, {"announcement": "We move on Sunday"})
        page = member.get("/timeline/").content.decode()
        assert "We move on Sunday" in page
        assert raw.hget("site", "announced")
        [name] = re.findall(r'name="announcement" value="(\w+)"', page)
        member.post("/announcement/dismiss/", {"announcement": name})
        change_site(store, {"announcement": "We move on Sunday", "name": "Ravens"})
        assert "We move on Sunday" not in member.get("/timeline/").content.decode()
        change_site(store, {"announcement": "", "name": ""})
    assert "announced" not in "".join(raw.zrange(raw.keys("log:*")[0], 0, -1))


@pytest.mark.parametrize("address", ["/about/", "/rules/", "/privacy/"])
def test_the_pages_about_the_site_have_defaults_and_show_links_but_no_html(browser, raw, address):
    assert browser().get(address).status_code == 200
    raw.hset("site", mapping=dict.fromkeys(("about", "rules", "privacy"), "See https://example.com <script>"))
    Memory.clear_all()
    page = browser().get(address).content.decode()
    assert '<a href="https://example.com"' in page
    assert "&lt;script&gt;" in page


# The word of each relation in the sentence about what is stored. Those that only their owner sees are in a second one.
STORED_AS = {
    "follow": "follows",
    "block": "blocks",
    "mute": "mutes",
    "mute_reposts": "mutes",
    "mute_words": "muted words",
    "follow_tag": "followed tags",
    "home_tag": "followed tags",
    "like": "likes",
    "repost": "reposts",
    "bookmark": "bookmarks",
    "mute_thread": "mutes",
}
PUBLIC = {"follow", "like", "repost"}


def test_the_privacy_page_tells_that_pages_behind_links_are_read_where_they_are(browser, settings):
    told = "the site reads their pages"
    assert told in page_of(browser().get("/privacy/"))
    settings.LINK_CHECKS = False
    assert told not in page_of(browser().get("/privacy/"))


def test_the_privacy_page_names_each_relation_and_who_sees_it(browser):
    page = text_of(browser().get("/privacy/"))
    [stored] = re.findall(r"Your posts with [^.]*\.", page)
    [public] = re.findall(r"[^.]* are public\.", page)
    [own] = re.findall(r"[^.]* are shown to you alone\.", page)
    assert set(STORED_AS) == {relation.kind for relation in RELATIONS}
    for kind, word in STORED_AS.items():
        assert word in stored, kind
        assert word in (public if kind in PUBLIC else own).lower(), kind


def test_the_privacy_page_says_that_reports_keep_pictures(browser):
    page = text_of(browser().get("/privacy/"))
    assert "with the text and the pictures as they were" in page
    assert "It keeps the pictures until it is decided." in page
