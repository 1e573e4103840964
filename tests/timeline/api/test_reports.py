"""Reports of apps to the staff."""

import json

from retwis_site.identity import forget
from tests.support.apps import App
from tests.support.stored_posts import write_posts
from timeline.posts.delivery import Reposts

REPORTS = "/api/v1/reports"


def test_a_person_and_posts_are_reported(store, raw, alice, bob):
    app, them = App(alice), bob.user.uid
    found = app.json("POST", REPORTS, {"account_id": them, "comment": "Look", "category": "spam"})
    assert (found["category"], found["comment"], found["target_account"]["acct"]) == ("spam", "Look", "bob")
    stored = raw.hgetall(f"report:{found['id']}")
    assert (stored["whom"], stored["reason"], stored["note"]) == (str(them), "spam", "Look")
    assert (app.json("POST", REPORTS, {"account_id": them})["id"], raw.zcard("reports")) == (found["id"], 1)
    write_posts(raw, them, [7, 8])
    raw.hset("site", "rules", "Be kind.\nNo spam.")
    forget()
    found = app.json("POST", REPORTS, {"account_id": them, "status_ids[]": [7, 8], "rule_ids[]": [2]})
    assert (found["status_ids"], found["rule_ids"], raw.zcard("reports")) == (["7", "8"], ["2"], 3)
    stored = raw.hgetall(f"report:{found['id']}")
    assert (stored["pid"], stored["reason"], stored["rule"], stored["body"]) == ("7", "rule:2", "No spam.", "post 7")


def test_a_reported_repost_is_a_report_about_the_person_since_staff_deletes_none(store, raw, alice, bob):
    app, them = App(alice), bob.user.uid
    write_posts(raw, alice.user.uid, [7])
    write_posts(raw, them, [8])
    Reposts(store).repost(them, 7, alice.user.uid)
    [repost] = raw.zrange(f"reposts:{them}", 0, -1, withscores=True)
    pid = int(repost[1])
    assert raw.hget(f"post:{pid}", "repost_of") == "7"
    for sent, told in (([pid], []), ([pid, 8], ["8"])):
        found = app.json("POST", REPORTS, {"account_id": them, "status_ids[]": sent})
        assert found["status_ids"] == told
        assert raw.hget(f"report:{found['id']}", "pid") == (told[0] if told else None)


def test_what_cannot_be_reported_is_refused(store, raw, alice, bob):
    app, them = App(alice), bob.user.uid
    write_posts(raw, alice.user.uid, [7])
    for sent, status in (
        ({"account_id": alice.user.uid}, 422),
        ({"account_id": them, "comment": "x" * 501}, 422),
        ({"account_id": them, "comment": "a\0b"}, 422),
        ({"account_id": them, "category": "boring"}, 422),
        ({"account_id": them, "rule_ids[]": 1}, 422),
        ({"account_id": them, "status_ids[]": 7}, 404),
        ({"account_id": 99}, 404),
        ({}, 404),
    ):
        assert app.ask("POST", REPORTS, sent).status_code == status
    assert raw.zcard("reports") == 0


def test_half_of_a_character_in_json_is_a_question_mark(raw, alice, bob):
    """Some apps cut texts in the middle of an emoji."""
    sent = json.dumps({"account_id": "2", "comment": "rude \ud83d"})
    answer = App(alice).client.post(REPORTS, sent, "application/json")
    assert (answer.status_code, answer.json()["comment"]) == (200, "rude ?")
    [report] = raw.keys("report:*")
    assert raw.hget(report, "note") == "rude ?"
