"""What staff hides is neither counted nor told: small cases, each with its keys. All cases at once are in
`tests/timeline/test_laws_of_pages.py`."""

import io
import re
import time

import pytest
from django.core.management import call_command

from accounts.community import sanctions
from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from accounts.users.repository import Users
from retwis_site.features import Feature, features
from retwis_site.jobs import outbox
from retwis_site.jobs.worker import drain, rounds
from retwis_site.store import chunks, keys
from retwis_site.store.local_cache import Memory
from retwis_site.store.snowflake import STEP
from tests.support.http.page_text import text_of
from tests.support.people import LONG_AGO
from tests.support.stored_keys import everything, noted
from timeline.notices import Inbox
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def site(store, raw, alice, bob, carol):
    return raw


def publish(store, uid, body, **links):
    return Posts(store).publish(uid, NewPost(body, **links), body).pid


def impose(store, state, until=0):
    Sanctions(store).impose(BOB, state, "spam", until)
    drain(store, "worker")
    Memory.clear_all()


def lift(store):
    Sanctions(store).lift(BOB)
    drain(store, "worker")
    Memory.clear_all()


def fix():
    said = io.StringIO()
    call_command("doctor", "--fix", stdout=said)
    return said.getvalue()


def badge(client):
    return re.search(r'data-count="(\d*)"', client.get("/people/").content.decode())[1]


def test_a_hidden_person_s_mentions_reach_only_those_who_follow_them(site, store, browser, alice, carol):
    Follows(store).follow(CAROL, BOB)
    impose(store, State.HIDDEN)
    publish(store, BOB, "ping @Alice @carol")
    assert (badge(browser(alice)), badge(browser(carol))) == ("", "1")
    assert site.zrange("notices:1", 0, -1) == []
    assert "<title>(" not in browser(alice).get("/").content.decode()


def test_who_unfollows_a_hidden_person_is_no_longer_told_of_them(site, store):
    Follows(store).follow(CAROL, BOB)
    publish(store, BOB, "ping @carol")
    impose(store, State.HIDDEN)
    assert site.zrange("notices:3", 0, -1) == ["mention:1:2"]
    Follows(store).unfollow(CAROL, BOB)
    assert site.zrange("notices:3", 0, -1) == []


def test_what_staff_hides_is_not_read_when_the_page_is_opened(site, store, browser, alice):
    """The worker has not been there yet."""
    pid = publish(store, ALICE, "Hello")
    site.zadd("notices:1", {f"like:{pid}:3": 1_700_000_001, f"like:{pid}:2": 1_800_000_002})
    site.hset("user:2", mapping={"state": "suspended", "state_until": "0"})
    said = text_of(browser(alice).get("/notifications/"))
    assert "carol" in said
    assert "bob" not in said
    assert site.hget("user:1", "noticed") == "1700000001"


def test_notices_come_back_with_the_dates_of_their_causes(site, store):
    pid = publish(store, ALICE, "Hello")
    Likes(store).like(BOB, pid, ALICE)
    site.zadd("likes:2", {pid: 1_700_000_007})
    site.zadd("notices:1", {f"like:{pid}:2": 1_700_000_007})
    impose(store, State.SUSPENDED)
    assert site.zrange("notices:1", 0, -1) == []
    lift(store)
    assert site.zrange("notices:1", 0, -1, withscores=True) == [(f"like:{pid}:2", 1_700_000_007)]


def test_numbers_come_back_when_a_suspension_ends_by_itself(site, store, monkeypatch):
    pid, ends = publish(store, ALICE, "Hello"), int(time.time()) + 3600
    Likes(store).like(BOB, pid, ALICE)
    impose(store, State.SUSPENDED, until=ends)
    assert site.hget("post:1", "likes") is None
    assert site.zrange("liked_by:1", 0, -1) == site.zrange("unseen:liked_by:1", 0, -1) == ["2"]
    [job] = noted(site)
    assert site.zscore("outbox", job) == ends + STEP
    monkeypatch.setattr(time, "time", lambda: float(ends + STEP))
    drain(store, "worker")
    assert site.hget("post:1", "likes") == "1"
    assert (site.exists("unseen:liked_by:1"), noted(site)) == (0, [])


def test_an_act_on_a_server_whose_clock_is_behind_is_counted_when_a_sanction_has_ended(site, store, monkeypatch):
    pid, ends = publish(store, ALICE, "Hello"), int(time.time()) + 3600
    impose(store, State.HIDDEN, until=ends)
    now = [ends]
    monkeypatch.setattr(time, "time", lambda: float(now[0]))
    drain(store, "worker")
    now[0] = ends - STEP + 1
    Likes(store).like(BOB, pid, ALICE)
    assert site.hget(f"post:{pid}", "likes") is None
    now[0] = ends + STEP
    drain(store, "worker")
    assert site.hget(f"post:{pid}", "likes") == "1"
    assert site.keys("unseen:*") == noted(site) == []
    assert site.zrange("notices:1", 0, -1) == [f"like:{pid}:2"]


def test_doctor_finds_wrong_numbers_of_someone_hidden_for_some_days(site, store):
    """The job that waits for the end of the sanction is at work on nothing yet."""
    pid = publish(store, ALICE, "Hello")
    Likes(store).like(BOB, pid, ALICE)
    Follows(store).follow(BOB, ALICE)
    publish(store, BOB, "an answer #tag", reply_to=pid)
    impose(store, State.HIDDEN, until=int(time.time()) + 3600)
    before = everything(site)
    for key in site.keys("unseen:*"):
        site.delete(key)
    site.zadd("notices:1", {f"like:{pid}:2": 1})
    fix()
    assert everything(site) == before


def test_doctor_finds_a_sanction_whose_end_no_number_would_follow(site, store, monkeypatch):
    """As those that stood before an upgrade."""
    pid, ends = publish(store, ALICE, "Hello"), int(time.time()) + 3600
    Likes(store).like(BOB, pid, ALICE)
    impose(store, State.HIDDEN, until=ends)
    for job in noted(site):
        site.zrem("outbox", job)
    assert "user 2: no job follows the end of the sanction" in fix()
    monkeypatch.setattr(time, "time", lambda: float(ends + STEP))
    drain(store, "worker")
    assert site.hget(f"post:{pid}", "likes") == "1"


def test_doctor_finds_a_freeze_after_whose_end_an_appeal_would_wait(site, store, monkeypatch):
    ends = int(time.time()) + 3600
    impose(store, State.FROZEN, until=ends)
    Sanctions(store).appeal(BOB, "I am sorry.")
    for job in noted(site):
        site.zrem("outbox", job)
    assert "user 2: no job follows the end of the sanction" in fix()
    monkeypatch.setattr(time, "time", lambda: float(ends + STEP))
    drain(store, "worker")
    assert not site.exists("appeals")


def test_numbers_follow_when_a_worker_runs_just_before_a_new_admin_is_shown_again(site, store, monkeypatch):
    pid = publish(store, ALICE, "Hello")
    Likes(store).like(BOB, pid, ALICE)
    impose(store, State.HIDDEN)
    write = Users.write

    def late(users, uid, fields):
        drain(store, "another worker")
        return write(users, uid, fields)

    monkeypatch.setattr(Users, "write", late)
    Roles(store).give(BOB, Role.ADMIN)
    drain(store, "worker")
    assert (site.hget(f"post:{pid}", "likes"), noted(site)) == ("1", [])


def test_notices_come_back_when_a_sanction_is_lifted_while_someone_unfollows(site, store, monkeypatch):
    publish(store, BOB, "ping @carol")
    Follows(store).follow(CAROL, BOB)
    impose(store, State.HIDDEN)
    remove = Inbox.remove_those_by

    def late(inbox, others):
        lift(store)
        remove(inbox, others)

    monkeypatch.setattr(Inbox, "remove_those_by", late)
    Follows(store).unfollow(CAROL, BOB)
    drain(store, "worker")
    assert site.zrange("notices:3", 0, -1) == ["mention:1:2"]


def test_a_tag_that_only_a_hidden_person_uses_is_offered_nowhere(site, store, browser, alice):
    publish(store, BOB, "x #onlytag")
    assert "#onlytag" in browser(alice).get("/complete/?q=%23only").content.decode()
    impose(store, State.HIDDEN)
    assert browser(alice).get("/complete/?q=%23only").status_code == 204
    assert "/tags/onlytag/" not in browser().get("/search/?q=%23only").content.decode()


def test_the_replies_to_a_reply_of_a_suspended_person_keep_their_place(site, store, browser):
    first = publish(store, ALICE, "begins")
    answer = publish(store, BOB, "the walrus", reply_to=first, quote=first)
    below = publish(store, CAROL, "goes on", reply_to=answer)
    alone = publish(store, BOB, "the walrus again", reply_to=first)
    impose(store, State.SUSPENDED)
    page = browser().get(f"/@Alice/{first}/").content.decode()
    assert f'id="post-{below}"' in page
    assert "This post is hidden." in page
    assert "walrus" not in page
    assert site.hget(f"post:{first}", "replies") == "1"  # its place in the thread counts, the other reply does not
    assert site.hget(f"post:{first}", "quotes") is None
    assert site.zrange(f"unseen:replies_to:{first}", 0, -1) == [str(alone)]
    Posts(store).delete(CAROL, below)
    assert site.hget(f"post:{first}", "replies") is None
    lift(store)
    assert site.hmget(f"post:{first}", "replies", "quotes") == ["2", "1"]


def test_the_notice_of_a_follower_goes_with_the_account_also_when_the_numbers_follow_a_sanction_first(
    site, store, carol
):
    Follows(store).follow(CAROL, BOB)
    AccountDeletion(store).delete(carol.user, carol.secret)
    gone = noted(site)
    site.zrem("outbox", *gone)
    impose(store, State.FROZEN)
    assert site.zrange("following:3", 0, -1) == []
    assert site.zrange("notices:2", 0, -1) == []
    site.zadd("outbox", dict.fromkeys(gone, 1))
    drain(store, "worker")
    assert site.keys("notices:*") == []


def test_a_sanction_is_answered_before_a_worker_has_counted(site, store, round_trips):
    """However much the person has done."""
    for number in range(30):
        Likes(store).like(BOB, publish(store, ALICE, f"post {number}"), ALICE)
    recorded = round_trips(lambda: Sanctions(store).impose(BOB, State.HIDDEN, "noise"))
    assert len(recorded.round_trips) == 12
    assert [job.partition(":")[0] for job in noted(site)] == ["recount"]


@pytest.fixture
def liked(site, store, monkeypatch):
    """Posts that bob has liked, and answered the first one. Their numbers follow a sanction of his in many turns."""
    pids = [publish(store, ALICE, f"post {number}") for number in range(5)]
    for pid in pids:
        Likes(store).like(BOB, pid, ALICE)
    site.zadd("likes:2", dict.fromkeys(pids, 1))  # all at once, as from an import
    for number in range(3):
        publish(store, BOB, f"reply {number}", reply_to=pids[0])
    monkeypatch.setattr(outbox, "TURN", -1.0)  # one chunk
    monkeypatch.setattr(chunks, "AT_ONCE", 3)
    Sanctions(store).impose(BOB, State.HIDDEN, "noise")
    return pids


def test_the_numbers_of_someone_who_has_done_much_follow_in_turns_and_none_begins_anew(site, store, liked):
    """Else a worker would do nothing else for minutes, and a killed one would have done nothing."""
    begun = []
    while jobs := noted(site):
        begun += [job.split(":")[2:-1] for job in jobs]
        next(rounds(store, "worker"))
    assert begun == [[], ["likes", "1", "3"], ["likes", "1", "1"], ["updates", "6", "6"]]
    assert [site.hget(f"post:{pid}", "likes") for pid in liked] == [None] * 5
    assert site.hget(f"post:{liked[0]}", "replies") is None


def test_doctor_makes_all_numbers_follow_when_no_worker_runs(site, liked):
    [job] = noted(site)
    site.zadd("outbox", {job: LONG_AGO})
    assert "overdue jobs" in fix()
    assert [site.hget(f"post:{pid}", "likes") for pid in liked] == [None] * 5
    assert noted(site) == []


def test_two_features_follow_one_set(site, store, monkeypatch):
    seen = []
    of_site = Feature(recount=lambda store, uid: {keys.updates: seen.extend})
    monkeypatch.setattr(sanctions, "features", lambda: [*features(), of_site])
    first = publish(store, ALICE, "Hello")
    reply = publish(store, BOB, "Hi", reply_to=first)
    impose(store, State.HIDDEN)
    assert site.hget(f"post:{first}", "replies") is None
    assert seen == [(str(reply), reply)]
