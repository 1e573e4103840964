"""Statuses: what an app publishes, and how it is shown."""

from tests.support.apps import App


def test_a_status_is_the_same_in_every_answer(store, raw, alice, bob):
    app = App(alice)
    first = app.json(
        "POST", "/api/v1/statuses", {"status": "Hello @bob #World\nhttps://example.com/a?b=1\n\nbye", "language": "de"}
    )
    assert app.json("GET", f"/api/v1/statuses/{first['id']}") == first
    assert app.json("GET", "/api/v1/timelines/home") == [first]
    assert app.json("GET", "/api/v1/timelines/public") == [first]
    assert app.json("GET", "/api/v1/timelines/tag/world") == [first]
    assert app.json("GET", "/api/v1/accounts/1/statuses") == [first]
