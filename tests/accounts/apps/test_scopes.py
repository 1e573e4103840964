"""What a token allows at the addresses of the API."""

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
