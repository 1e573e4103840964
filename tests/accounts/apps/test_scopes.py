"""What a token allows at the addresses of the API."""

import pytest

from tests.support.apps import App, token_of


def test_a_token_allows_what_its_scopes_cover(store, raw, alice, bob, client):
    reads = App(alice, "read:statuses")
    reads.json("GET", "/api/v1/timelines/home")
    for method, address in (
        ("GET", "/api/v1/blocks"),
        ("POST", "/api/v1/statuses"),
        ("POST", "/api/v1/accounts/2/follow"),
    ):
        answer = reads.ask(method, address, {"status": "hello"})
        assert (answer.status_code, answer.json()) == (403, {"error": "This action is outside the authorized scopes"})
    assert raw.exists("updates:1", "following:1") == 0
    App(alice, "follow").json("POST", "/api/v1/accounts/2/follow")
    App(alice, "write").json("POST", "/api/v1/statuses", {"status": "hello"})
    App(alice, "profile").json("GET", "/api/v1/accounts/verify_credentials")


def test_a_cookie_alone_does_nothing_and_a_token_needs_no_form(store, raw, browser, alice, bob):
    me = browser(alice, csrf=True)
    for method, address in (("GET", "/api/v1/timelines/home"), ("POST", "/api/v1/accounts/2/follow")):
        answer = me.generic(method, address)
        assert (answer.status_code, answer.json()) == (401, {"error": "The access token is invalid"})
    assert not raw.exists("following:1")
    shown = {"Authorization": f"Bearer {token_of(alice)}"}
    assert me.post("/api/v1/accounts/2/follow", headers=shown).status_code == 200
    assert browser(bob).get("/api/v1/accounts/verify_credentials", headers=shown).json()["username"] == "Alice"


def test_an_ended_token_is_told_so_even_where_nobody_need_be_signed_in(store, alice):
    app = App()
    for token in ("x", "0" * 32, "0" * 32 + "1", "x" * 20_000):
        app.client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        assert app.ask("GET", "/api/v1/timelines/public").status_code in (401, 431)


def test_a_token_is_judged_before_what_it_asks_is_refused(store, alice, round_trips):
    """An app shows "not found" for a 404, and logs in anew for a 401."""
    ended, narrow, valid = App(), App(alice, "profile"), App(alice)
    ended.client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {'0' * 32}1"
    for address, refused in (
        ("/api/v1/accounts/lookup", 404),
        ("/api/v1/accounts/lookup?acct=nobody", 404),
        ("/api/v1/accounts/lookup?acct=alice@other.example", 404),
        ("/api/v1/timelines/public?limit=x", 422),
        ("/api/v1/statuses/1/favourited_by?max_id=x", 422),
    ):
        found = [app.ask("GET", address).status_code for app in (ended, narrow, valid, App())]
        assert found == [401, 403, refused, refused], address
        assert len(round_trips(lambda at=address: valid.ask("GET", at)).round_trips) <= 2, address
    assert App().ask("GET", "/api/v1/timelines/home?limit=x").status_code == 401
    assert ended.ask("GET", "/api/v1/timelines/home?limit=x").status_code == 401


@pytest.mark.parametrize(
    ("address", "scope"),
    [
        ("/api/v1/statuses?id[]=1", "read:statuses"),
        ("/api/v1/statuses/1", "read:statuses"),
        ("/api/v1/statuses/1/context", "read:statuses"),
        ("/api/v1/statuses/1/history", "read:statuses"),
        ("/api/v1/statuses/1/favourited_by", "read:accounts"),
        ("/api/v1/statuses/1/reblogged_by", "read:accounts"),
        ("/api/v1/timelines/public", "read:statuses"),
        ("/api/v1/timelines/tag/tea", "read:statuses"),
        ("/api/v1/accounts/2/statuses", "read:statuses"),
        ("/api/v1/accounts?id[]=2", "read:accounts"),
        ("/api/v1/accounts/2", "read:accounts"),
        ("/api/v1/accounts/lookup?acct=Bob", "read:accounts"),
        ("/api/v1/accounts/2/followers", "read:accounts"),
        ("/api/v1/accounts/2/following", "read:accounts"),
        ("/api/v1/directory", "read:accounts"),
        ("/api/v2/search?q=tea", "read:search"),
        ("/api/v1/tags/tea", "read:follows"),
        ("/api/v1/trends/statuses", "read:statuses"),
    ],
)
def test_where_visitors_may_ask_a_token_needs_the_scope_for_what_is_told_of_its_user(store, alice, bob, address, scope):
    App(bob).json("POST", "/api/v1/statuses", {"status": "a cup of #tea"})
    App().json("GET", address)
    App(alice, scope).json("GET", address)
    for other in ("profile", "write", "push"):
        assert App(alice, other).ask("GET", address).status_code == 403


def test_an_app_that_may_see_the_name_alone_learns_no_bookmark_and_no_muted_word(store, raw, alice, bob):
    App(bob).json("POST", "/api/v1/statuses", {"status": "about zebras"})
    App(alice).json("POST", "/api/v1/statuses/1/bookmark")
    raw.zadd("muted_words:1", {"everywhere fold zebras": "inf"})
    sees_the_name = App(alice, "profile")
    for address in ("/api/v1/statuses?id[]=1", "/api/v1/timelines/public", "/api/v1/accounts/2/statuses"):
        answer = sees_the_name.ask("GET", address)
        assert (answer.status_code, b"zebras" in answer.content) == (403, False)
