"""A story of Mastodon.py, a client that others have written: it registers as an app, gets its tokens by OAuth, and uses
the site."""

import re

import pytest
from mastodon import Mastodon, MastodonAPIError, MastodonUnauthorizedError

from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD

pytestmark = [pytest.mark.real_server, pytest.mark.processes]

SCOPES = ["read", "write", "follow"]
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"


@pytest.fixture
def client(served_by_one_worker, raw, alice, bob):
    """`client("bob")`: a client that bob has allowed in a browser, by a code that he types into it."""
    port = served_by_one_worker.port
    origin = f"http://127.0.0.1:{port}"
    app = Mastodon.create_app("Story", scopes=SCOPES, redirect_uris=OUT_OF_BAND, api_base_url=origin)

    def allowed(name):
        made, browser = Mastodon(*app, api_base_url=origin), Browser(port)
        form = browser.ask("/login/").form("/login/") | {"username": name, "password": PASSWORD}
        browser.ask("/login/", form)
        address = made.auth_request_url(redirect_uris=OUT_OF_BAND, scopes=SCOPES, allow_http=True).removeprefix(origin)
        consent = browser.ask(address)
        [action] = set(re.findall(r'<form method="post" action="(/oauth/[^"]*)"', consent.page))
        shown = browser.ask(address, consent.form(action.replace("&amp;", "&")) | {"allow": "1"}).page
        made.log_in(code=re.search(r'<code dir="ltr">([^<]+)</code>', shown)[1], scopes=SCOPES, allow_http=True)
        return made

    return allowed


def test_a_client_signs_in_posts_reads_and_is_told(client):
    alice, bob = client("Alice"), client("bob")
    me = alice.me()
    assert (me.acct, me.display_name, me.statuses_count) == ("Alice", "", 0)
    him = alice.account_lookup("bob@" + alice.instance().domain)
    assert alice.account_follow(him).following
    first = bob.status_post("Good #morning, @alice", language="en", idempotency_key="once")
    assert bob.status_post("Good #morning, @alice", idempotency_key="once").id == first.id
    assert [tag.name for tag in first.tags] == ["morning"]
    assert [one.acct for one in first.mentions] == ["Alice"]
    posts = [first, *(bob.status_post(f"Post {number}") for number in range(3))]
    page = alice.timeline_home(limit=2)
    older = alice.fetch_next(page)
    assert [one.id for one in [*page, *older]] == [one.id for one in reversed(posts)]
    assert alice.fetch_next(older) is None
    assert [one.id for one in alice.fetch_previous(older)] == [one.id for one in page]
    assert alice.status_favourite(first).favourited
    answer = alice.status_reply(first, "And to you")
    assert [one.id for one in bob.status_context(first).descendants] == [answer.id]
    assert {(one.type, one.account.acct) for one in bob.notifications()} == {
        ("mention", "Alice"),
        ("favourite", "Alice"),
        ("follow", "Alice"),
    }
    assert len(bob.grouped_notifications().notification_groups) == 3
    assert bob.search(first.url).statuses[0].id == first.id
    assert alice.account_update_credentials(display_name="Ann", fields=[("Home", "Rome")]).fields[0].value == "Rome"
    with pytest.raises(MastodonAPIError, match="Validation failed"):
        alice.status_post("For you alone", visibility="direct")
    alice.revoke_access_token(allow_http=True)
    with pytest.raises((MastodonUnauthorizedError, MastodonAPIError)):
        alice.timeline_home()
