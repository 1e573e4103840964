"""Staff hides, suspends and shows a person while the person and others act, with and without kills: in the end every
number and every notice is as the person stands."""

from functools import partial

import pytest

from accounts.users.entities import NoSuchUser, Refused, State
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.protocols.community import finish_all_but_removals, make_moderated_site
from tests.support.protocols.interleaving import attempt, interleave
from tests.support.protocols.small_site import ALICE, BOB, CAROL
from tests.support.stores.seam import before_part, cases, each_moment, examples, killed_before_round_trip, stride
from timeline.posts.entities import NewPost, TargetRefused
from timeline.posts.repository import Posts

RUNS = 10  # seeds for each scenario
BOBS_POST = 1
LIKE = CAROL, BOBS_POST, BOB  # or repost


def reply(acts, who=CAROL, to=BOBS_POST, token="r"):  # noqa: S107
    return attempt(partial(Posts(acts.store).publish, who, NewPost("@bob #tag", reply_to=to), token), TargetRefused)


def quote(acts):
    return attempt(partial(Posts(acts.store).publish, CAROL, NewPost("look #tag", quote=BOBS_POST), "q"), TargetRefused)


def everything_of_carol(acts):
    """What carol has done before."""
    for act in (acts.like(*LIKE), acts.repost(*LIKE), acts.follow(CAROL, BOB), reply(acts), quote(acts)):
        act()


def nothing(acts):
    """Carol has done nothing."""


def suspended(acts):
    everything_of_carol(acts)
    acts.suspend()()
    drain(acts.store, "a worker")


# What was done before, and what happens at once.
SCENARIOS = {
    "a like beside a suspension": (nothing, lambda s: [s.like(*LIKE), s.suspend(), s.drain()]),
    "a repost beside a suspension": (nothing, lambda s: [s.repost(*LIKE), s.suspend(), s.drain()]),
    "a follow beside a suspension": (nothing, lambda s: [s.follow(CAROL, BOB), s.suspend(), s.drain()]),
    "a new follower beside a suspension": (nothing, lambda s: [s.follow(BOB, CAROL), s.suspend(), s.drain()]),
    "a reply beside a suspension": (nothing, lambda s: [reply(s), s.suspend(), s.drain()]),
    "a quote beside a hiding": (nothing, lambda s: [quote(s), s.impose(State.HIDDEN), s.drain()]),
    "an unlike beside a suspension": (everything_of_carol, lambda s: [s.unlike(*LIKE), s.suspend(), s.take_over]),
    "an unfollow beside a hiding": (
        lambda s: [everything_of_carol(s), s.follow(BOB, CAROL)()],
        lambda s: [s.unfollow(BOB, CAROL), s.impose(State.HIDDEN), s.take_over],
    ),
    "a suspension that is lifted in the middle": (
        everything_of_carol,
        lambda s: [s.suspend(), s.drain(), s.lift(), s.drain()],
    ),
    "a suspension that is lifted, and workers that are slow": (
        suspended,
        lambda s: [s.lift(), s.take_over, s.take_over],
    ),
    "another sanction": (suspended, lambda s: [s.impose(State.HIDDEN), s.take_over, s.drain()]),
    "a deletion of the post": (everything_of_carol, lambda s: [s.suspend(), s.delete(BOB, BOBS_POST), s.drain()]),
    "a deletion of the account": (everything_of_carol, lambda s: [s.suspend(), s.delete_account(CAROL), s.drain()]),
    "a block": (everything_of_carol, lambda s: [s.impose(State.HIDDEN), s.block(BOB, CAROL), s.drain()]),
    "a reply to a reply": (everything_of_carol, lambda s: [s.suspend(), reply(s, ALICE, 4, "a"), s.drain()]),
}


EVERY = [(scenario, kills) for scenario in SCENARIOS for kills in (0, 2)]
SOME = [(scenario, number % 2 * 2) for number, scenario in enumerate(SCENARIOS)]


@pytest.mark.parametrize(("scenario", "kills"), cases(EVERY, SOME))
def test_numbers_and_notices_are_as_the_person_stands(acts, store, raw, scenario, kills):
    before, tasks = SCENARIOS[scenario]
    for seed in range(examples(RUNS)):
        make_moderated_site(raw)
        before(acts)
        interleave(seed, kills, tasks(acts), Refused, NoSuchUser)
        assert_numbers_agree(store, raw, seed)


IN_THE_MIDDLE = {
    "a like": lambda s: s.like(*LIKE),
    "a reply": reply,
    "a follow": lambda s: s.follow(CAROL, BOB),
    "the deletion of the post": lambda s: s.delete(BOB, BOBS_POST),
    "the end": lambda s: s.lift(),
}


@pytest.mark.parametrize("act", cases([*IN_THE_MIDDLE], ["a like", "the end"]))
def test_an_act_in_the_middle_of_the_worker_s_part_is_counted_right(acts, store, raw, act):
    for step in each_moment(stride=5 * stride()):
        make_moderated_site(raw)
        everything_of_carol(acts)
        if act != "the end":
            acts.unlike(*LIKE)()
            acts.unfollow(CAROL, BOB)()
        acts.suspend()()
        with before_part(step, IN_THE_MIDDLE[act](acts)):
            drain(store, "a worker")
        assert_numbers_agree(store, raw, step)


def test_a_follower_who_leaves_in_the_middle_of_the_worker_s_part_leaves_no_notice(acts, store, raw):
    for step in each_moment():
        make_moderated_site(raw)
        raw.zadd("notices:3", {f"follow:{CAROL}:{ALICE}": 1})  # alice follows carol since before
        acts.suspend()()
        with before_part(step, acts.delete_account(ALICE)):
            drain(store, "a worker")
        assert_numbers_agree(store, raw, step)
        assert raw.zrange("notices:3", 0, -1) == [] or not step.has_come, step


@pytest.mark.parametrize("begin", [everything_of_carol, suspended])
def test_a_killed_worker_leaves_the_rest_to_the_next_one(acts, store, raw, begin):
    for step in each_moment(stride=4 * stride()):
        make_moderated_site(raw)
        begin(acts)
        (acts.lift() if begin is suspended else acts.suspend())()
        killed_before_round_trip(step, acts.drain())
        assert_numbers_agree(store, raw, step)


def assert_numbers_agree(store, raw, where):
    finish_all_but_removals(store, raw)
    Memory.clear_all()
    person = raw.hgetall(f"user:{CAROL}")
    unseen = person.get("state", "") in ("hidden", "suspended") and "deleted" not in person
    posts = {int(pid): raw.hgetall(f"post:{pid}") for pid in raw.zrange("updates:3", 0, -1)}
    for key in [
        *raw.keys("followers:*"),
        *raw.keys("liked_by:*"),
        *raw.keys("reposted_by:*"),
        *raw.keys("following:*"),
    ]:
        expected = {str(CAROL)} if unseen and raw.zscore(key, CAROL) is not None else set()
        assert set(raw.zrange(f"unseen:{key}", 0, -1)) == expected, (where, key)
    for key in [*raw.keys("replies_to:*"), *raw.keys("quotes_of:*"), *raw.keys("tag:*")]:
        own = {str(pid) for pid in posts if unseen and raw.zscore(key, pid) is not None}
        if key.startswith("replies_to:"):
            own = {pid for pid in own if not int(raw.hget(f"post:{pid}", "replies") or 0)}
        assert set(raw.zrange(f"unseen:{key}", 0, -1)) == own, (where, key)
    for key in raw.keys("unseen:*"):
        assert set(raw.zrange(key, 0, -1)) <= set(raw.zrange(key.removeprefix("unseen:"), 0, -1)), (where, key)
    for name, kind in (
        ("likes", "liked_by"),
        ("reposts", "reposted_by"),
        ("replies", "replies_to"),
        ("quotes", "quotes_of"),
    ):
        for key in raw.keys("post:*"):
            if raw.hexists(key, "deleted"):
                continue
            listed = f"{kind}:{key.partition(':')[2]}"
            number = raw.zcard(listed) - raw.zcard(f"unseen:{listed}")
            assert int(raw.hget(key, name) or 0) == number, (where, key, name)
    ranked = dict(raw.zrange("users_by_followers", 0, -1, withscores=True))
    numbers = {uid: raw.zcard(f"followers:{uid}") - raw.zcard(f"unseen:followers:{uid}") for uid in (ALICE, BOB, CAROL)}
    assert ranked == {str(uid): number for uid, number in numbers.items() if number}, where
    of_carol = [member for member in raw.zrange("notices:2", 0, -1) if member.endswith(f":{CAROL}")]
    sees_her = person.get("state") == "hidden" and raw.zscore("following:2", CAROL) is not None
    assert not of_carol or not unseen or sees_her, (where, of_carol)
