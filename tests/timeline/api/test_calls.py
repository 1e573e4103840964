"""What all addresses of the API have in common."""

from tests.support.apps import App
from tests.support.stored_keys import publish


def test_an_address_answers_with_and_without_its_last_slash(store):
    for address in ("/api/v1/custom_emojis", "/.well-known/nodeinfo", "/nodeinfo/2.0"):
        assert App().json("GET", address) == App().json("GET", f"{address}/")


def test_an_address_with_more_slashes_is_none_so_what_waits_at_one_waits_at_each(store):
    for address in ("/api/v1/custom_emojis//", "/api/v1//custom_emojis", "/api/v1/custom_emojis///"):
        assert App().ask("GET", address).status_code == 404


def test_every_answer_is_json_and_may_be_read_by_other_sites(store):
    for method, address, status in (
        ("GET", "/api/v1/custom_emojis", 200),
        ("GET", "/api", 404),
        ("GET", "/api/", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/v1/accounts/:", 404),
        ("GET", "/api/v1/tags/:", 404),
        ("DELETE", "/api/v1/custom_emojis", 405),
        ("OPTIONS", "/api/v1/custom_emojis", 204),
    ):
        answer = App().ask(method, address)
        assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (status, "*")
        assert answer["Access-Control-Allow-Headers"] == "Authorization, Content-Type, Idempotency-Key, *"
        if status >= 400:
            assert answer["Content-Type"] == "application/json; charset=utf-8"
            assert answer.json().keys() == {"error"}
        if status == 405:
            assert (answer.json()["error"], answer["Allow"]) == ("This method is not allowed here", "GET")


def test_a_number_that_is_none_is_refused(app):
    for number in ("x", "--5", "٣", "²", "-"):
        assert app.ask("GET", "/api/v1/timelines/home", {"limit": number}).status_code == 422, number
    assert app.ask("GET", "/api/v1/timelines/home", {"limit": "-5"}).status_code == 200


def test_a_cursor_that_is_no_number_is_refused_by_each_list(store, raw, alice, app):
    pid = publish(raw, store, alice, "Hello #tag")
    of_people = [f"accounts/1/{side}" for side in ("followers", "following")]
    of_people += ["blocks", "mutes", *(f"statuses/{pid}/{acted}_by" for acted in ("favourited", "reblogged"))]
    of_posts = ["timelines/home", "timelines/public", "timelines/tag/tag", "accounts/1/statuses"]
    for called in (*of_people, *of_posts, "favourites", "bookmarks", "notifications"):
        for name in ("max_id", "since_id", *(() if called in of_people else ("min_id",))):
            for cursor in ("x", "-1", "1.5", "٣", "9" * 33):
                answer = app.ask("GET", f"/api/v1/{called}", {name: cursor})
                said = {"error": f"Validation failed: {name} is no number"}
                assert (answer.status_code, answer.json()) == (422, said), (called, name, cursor)
