"""What apps ask about the site before anybody is signed in, and what it has not."""

import re

import pytest

from accounts.signing_in.sessions.repository import Sessions
from retwis_site.identity import forget
from retwis_site.jobs.worker import drain
from tests.support.apps import App
from timeline.api import instance
from timeline.api.views import ENDPOINTS
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def test_an_app_learns_the_name_the_rules_and_the_limits_of_the_site(store, raw, alice, bob):
    raw.hset("site", mapping={"name": "Kiosk", "rules": "Be kind.\n\nNo spam.", "contact": "mailto:ann@kiosk.example"})
    forget()
    now = App().json("GET", "/api/v2/instance")
    assert (now["title"], now["domain"], now["contact"]["email"]) == ("Kiosk", "testserver", "ann@kiosk.example")
    assert [(rule["id"], rule["text"]) for rule in now["rules"]] == [("1", "Be kind."), ("2", "No spam.")]
    assert now["configuration"]["statuses"]["max_characters"] == 280
    assert (now["registrations"]["enabled"], now["registrations"]["approval_required"]) == (True, False)
    assert now["rules"] == App().json("GET", "/api/v1/instance/rules")
    before = App().json("GET", "/api/v1/instance/")
    assert (before["uri"], before["stats"]["user_count"], before["rules"]) == ("testserver", 2, now["rules"])
    raw.hset("site", "registration", "invite")
    forget()
    assert not App().json("GET", "/api/v2/instance")["registrations"]["enabled"]


def test_the_version_is_one_of_semver_org(store):
    """masto.js 5 and Phanpy read it as that, and the first ends at any other."""
    found = {App().json("GET", f"/api/v{number}/instance")["version"] for number in (1, 2)}
    assert len(found) == 1
    part = r"[0-9A-Za-z-]+"
    assert re.fullmatch(rf"4\.3\.0\+retwis-{part}(\.{part})*", found.pop())


def test_an_instance_costs_one_round_trip(store, alice, round_trips):
    App().json("GET", "/api/v2/instance")
    forget()
    assert len(round_trips(lambda: App().json("GET", "/api/v2/instance")).round_trips) == 1


def test_an_app_whose_token_has_ended_still_learns_about_the_site(store, alice):
    """Mastodon.py asks for the version before the call that is refused."""
    app = App(alice)
    Sessions(store).end_all(alice.user.uid)
    assert app.ask("GET", "/api/v1/accounts/verify_credentials").status_code == 401
    for endpoint in ENDPOINTS:
        if not endpoint.scope and endpoint.method == "GET" and "verify_credentials" not in endpoint.address:
            assert app.ask("GET", endpoint.address.replace(":id", "1")).status_code == 200, endpoint.address


def test_nodeinfo_leads_to_how_large_the_site_is(store, alice, bob):
    Posts(store).publish(alice.user.uid, NewPost("hello"), "token")
    [link] = App().json("GET", "/.well-known/nodeinfo")["links"]
    assert link["href"] == "http://testserver/nodeinfo/2.0"
    found = App().json("GET", "/nodeinfo/2.0")
    assert (found["version"], found["software"]["name"], found["openRegistrations"]) == ("2.0", "retwis", True)
    assert found["metadata"]["upstream"] == {"name": "mastodon"}
    assert found["usage"] == {"users": {"total": 2, "activeMonth": 1, "activeHalfyear": 1}, "localPosts": 1}


@pytest.mark.indexed
def test_the_number_of_posts_has_those_with_ids_from_the_time(store, settings, alice):
    Posts(store).publish(alice.user.uid, NewPost("one"), "token")
    settings.POST_IDS = "snowflake"
    for text in ("two", "three"):
        Posts(store).publish(alice.user.uid, NewPost(text), text)
    drain(store, "worker")
    assert App().json("GET", "/nodeinfo/2.0")["usage"]["localPosts"] == 3
    assert App().json("GET", "/api/v1/instance")["stats"]["status_count"] == 3


def test_an_announcement_is_shown_until_it_is_dismissed(store, raw, alice, app):
    assert app.json("GET", "/api/v1/announcements") == []
    raw.hset("site", "announcement", "We move <today>.")
    forget()
    [one] = app.json("GET", "/api/v1/announcements")
    assert (one["content"], one["read"]) == ("<p>We move &lt;today&gt;.</p>", False)
    assert app.json("POST", f"/api/v1/announcements/{one['id']}/dismiss") == {}
    assert raw.hget(f"user:{alice.user.uid}", "dismissed") == one["id"]
    assert app.json("GET", "/api/v1/announcements") == []
    assert app.json("GET", "/api/v1/announcements", {"with_dismissed": "true"})[0]["read"]


def test_the_dismissal_of_another_announcement_is_a_404_and_shows_none_again(raw, alice, app):
    raw.hset("site", "announcement", "Old")
    forget()
    [old] = app.json("GET", "/api/v1/announcements")
    raw.hset("site", "announcement", "New")
    forget()
    [new] = app.json("GET", "/api/v1/announcements")
    app.json("POST", f"/api/v1/announcements/{new['id']}/dismiss")
    for another in (old["id"], "anything", "0"):
        assert app.ask("POST", f"/api/v1/announcements/{another}/dismiss").status_code == 404
    assert raw.hget(f"user:{alice.user.uid}", "dismissed") == new["id"]
    assert app.json("GET", "/api/v1/announcements") == []
    raw.hdel("site", "announcement")
    assert app.ask("POST", f"/api/v1/announcements/{new['id']}/dismiss").status_code == 404


def test_what_the_site_has_not_is_an_empty_list(store, alice, app):
    for scope, addresses in instance.LISTS.items():
        for address in addresses:
            at = address.replace(":id", str(alice.user.uid))
            assert app.json("GET", at) == []
            assert App().ask("GET", at).status_code == (401 if scope else 200)
    assert app.json("GET", "/api/v1/preferences")["posting:default:visibility"] == "public"
    german = app.json("GET", "/api/v1/preferences", **{"Accept-Language": "de-CH,de;q=0.9"})
    assert german["posting:default:language"] == "de"
    assert app.json("GET", "/api/v1/preferences")["posting:default:language"] == "en"
    assert app.json("GET", "/api/v2/notifications/policy")["for_not_following"] == "accept"
    assert app.json("GET", "/api/v1/notifications/requests/merged") == {"merged": True}
    assert app.ask("GET", "/api/v1/push/subscription").status_code == 404


@pytest.mark.parametrize(("memory", "most"), [(1, 4), (0, 0)])
def test_a_site_without_pictures_says_that_a_status_has_none(store, settings, memory, most):
    settings.MEDIA_MEMORY = memory
    for version in ("v1", "v2"):
        found = App().json("GET", f"/api/{version}/instance")["configuration"]["statuses"]
        assert found["max_media_attachments"] == most
