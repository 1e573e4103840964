"""Each action on a post changes one relation of the viewer. What its button shows: test_actions_on_posts.py."""

import pytest

from tests.support.stored_keys import everything, publish
from timeline.posts.repository import Posts
from timeline.relations.block import BlockedPeople

ALICE, BOB = 1, 2
UNDO = {"like": "unlike", "repost": "unrepost", "bookmark": "unbookmark", "mute": "unmute"}
KEYS = {"like": "likes:1", "repost": "reposts:1", "bookmark": "bookmarks:1", "mute": "muted_threads:1"}

each_action = pytest.mark.parametrize("action", UNDO)


@pytest.fixture
def pid(store, raw, alice, bob):
    """A post of bob's."""
    return publish(raw, store, bob, "Hello")


def act(client, pid, action, page="/timeline/?before=90"):
    return client.post(f"/@bob/{pid}/{action}/", headers={"referer": f"http://testserver{page}"})


@each_action
def test_an_action_and_its_undo_lead_back_to_the_page(browser, alice, raw, pid, action):
    client = browser(alice)
    response = act(client, pid, action)
    assert (response.status_code, response["Location"]) == (302, f"/timeline/?before=90#post-{pid}")
    assert raw.zrange(KEYS[action], 0, -1) == [str(pid)]
    assert act(client, pid, UNDO[action]).status_code == 302
    assert not raw.exists(KEYS[action])


@each_action
def test_a_visitor_logs_in_first(browser, raw, pid, action):
    before = everything(raw)
    assert act(browser(), pid, action)["Location"].startswith("/login/?next=")
    assert everything(raw) == before


@each_action
def test_it_answers_post_alone(browser, alice, pid, action):
    assert browser(alice).get(f"/@bob/{pid}/{action}/").status_code == 405


@each_action
@pytest.mark.parametrize(("gone", "status"), [("deleted", 410), ("never there", 404), ("by another author", 404)])
def test_a_post_that_is_not_there_is_refused(browser, store, alice, raw, pid, action, gone, status):
    if gone == "deleted":
        Posts(store).delete(BOB, pid)
    elif gone == "never there":
        pid = 99
    else:
        raw.hset(f"post:{pid}", "user_id", 1)
    assert act(browser(alice), pid, action).status_code == status
    assert not raw.exists(KEYS[action])


@each_action
@pytest.mark.parametrize(("who", "whom"), [(ALICE, BOB), (BOB, ALICE)])
def test_a_post_of_a_blocked_person_is_refused(browser, store, alice, raw, pid, action, who, whom):
    BlockedPeople(store).block(who, whom)
    response = act(browser(alice), pid, action)
    assert response.status_code == 403
    assert "You cannot see this." in response.content.decode()
    assert not raw.exists(KEYS[action])


@each_action
@pytest.mark.parametrize(("who", "whom"), [(ALICE, BOB), (BOB, ALICE)])
def test_an_undo_works_also_behind_a_block(browser, store, alice, raw, pid, action, who, whom):
    client = browser(alice)
    act(client, pid, action)
    assert raw.exists(KEYS[action])
    BlockedPeople(store).block(who, whom)
    response = act(client, pid, UNDO[action])
    assert (response.status_code, response["Location"]) == (302, "/timeline/?before=90")
    assert not raw.exists(KEYS[action])
    in_place = client.post(f"/@bob/{pid}/{UNDO[action]}/", headers={"HX-Request": "true"})
    assert in_place["Location"] == "/"  # another page than that of the button is opened


def test_a_mute_of_an_answer_is_one_of_its_thread(browser, alice, raw, pid):
    raw.hset(f"post:{pid}", mapping={"reply_to": 8, "root": 7})
    act(browser(alice), pid, "mute")
    assert raw.zrange("muted_threads:1", 0, -1) == ["7"]


def test_a_like_takes_at_most_ten_round_trips(browser, alice, raw, pid, round_trips):
    client = browser(alice)
    client.get("/@bob/")
    raw.zadd(f"liked_by:{pid}", {1000 + number: 1 for number in range(3000)})
    assert len(round_trips(lambda: act(client, pid, "like")).round_trips) <= 10


def test_actions_are_counted_and_an_undo_is_not(browser, alice, raw, pid):
    client = browser(alice)
    for action in UNDO:
        act(client, pid, action)
        act(client, pid, UNDO[action])
    assert raw.zcard("throttle:act:1") == len(UNDO)
