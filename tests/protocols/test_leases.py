"""No process writes for a job after its lease: a minute passes before any of its round trips, and a worker finishes the
job. Then the process goes on, and changes nothing. The same for a worker whose job another worker finishes.

Each kind of write that has a job is here, and a test holds that none is missing. Killed before any of its round trips,
a write has no effect, or its full effect once a worker has run.
"""

import contextlib
import time
from collections import deque
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.test import override_settings

from accounts.community.acts import BLOCKED, Answers, Roles, allow_picture, change_site, remove_picture
from accounts.community.log import Act
from accounts.community.sanctions import Sanctions
from accounts.facts.facts import Fact, save_profile
from accounts.joining.joining import Applications, Invitations, Joining
from accounts.media.decoding import Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import Pictures
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.accounts import AccountDeletion, Registration
from accounts.users.entities import NoSuchUser, Refused, Role, State, User
from accounts.users.names import NameIndex
from retwis_site.exceptions import LeaseEnded, StoreError, StoreRefused
from retwis_site.features import features
from retwis_site.jobs import lease, outbox
from retwis_site.jobs.outbox import Outbox
from retwis_site.jobs.worker import drain
from retwis_site.store.commands import Commands
from retwis_site.store.local_cache import Memory
from tests.support.people import give_old_password
from tests.support.pictures import decoded_once, decoded_picture, picture_file
from tests.support.protocols.community import StaffActs, make_moderated_site
from tests.support.protocols.conversations import make_thread
from tests.support.protocols.relations import CASES
from tests.support.protocols.reports import make_admin
from tests.support.protocols.small_site import ALICE, BOB, CAROL, Acts, make_small_site
from tests.support.stored_keys import add_overdue_job, drain_due, everything, make_due, noted
from tests.support.stores.seam import before_round_trip, each_moment, killed_before_round_trip, stride
from timeline.moderation.reports import Action, NewReport, Reports
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.pictures import describe, remove_by_staff
from timeline.posts.reading.records import Version
from timeline.posts.repository import Posts
from timeline.search.rebuilding import Rebuilding

pytestmark = pytest.mark.indexed

MINUTE = 61.0
WHY = "Advertisements"


@pytest.fixture
def minutes(monkeypatch):
    """`minutes.pass_one()` ends all leases."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def pass_one():
        clock.now += MINUTE

    return SimpleNamespace(pass_one=pass_one)


def relation(name, verb):
    """A change of an edge of alice's; before it, the edge stands as before the opposite change."""
    case = CASES[name]

    def begin(store, raw):
        if verb == "unset":
            case.set(store, ALICE)()
        return case.change(store, verb, ALICE)

    return begin


def invited(store, raw):
    code = Invitations(store).make(BOB, uses=2).code
    return lambda: Joining(store).join("invitation", "dora", "hash", "", code)


def answered(how):
    def begin(store, raw):
        Applications(store).apply("Dora", "hash", "I know bob.")
        [asked] = Applications(store).all()
        return lambda: how(Answers(store), asked.at)

    return begin


def of_staff(acts):
    """`acts(staff)` returns what is done before, and the write."""

    def begin(store, raw):
        before, write = acts(StaffActs(store))
        for act in before:
            act()
        return write

    return begin


def demoted(store, raw):
    make_admin(store, BOB)
    make_admin(store, CAROL)
    return lambda: Roles(store).give(CAROL, Role.MEMBER)


def with_an_old_hash(work):
    def begin(store, raw):
        give_old_password(raw, ALICE)
        return lambda: work(Sessions(store))

    return begin


def edited(store, raw):
    """Other people are mentioned, under other tags."""
    pid = Posts(store).publish(CAROL, NewPost("For @bob #python"), "t").pid
    return lambda: Posts(store).edit(CAROL, pid, "Another text for @alice #redis")


def answer_under_a_tombstone(store, raw):
    """The last answer to a deleted post goes, and the tombstone with it."""
    first, second = make_thread(store)
    Posts(store).delete(ALICE, first)
    return lambda: Posts(store).delete(CAROL, second)


def linked(store, raw):
    """The address is for examples alone, so no worker asks it."""
    facts = [Fact("Web", "https://192.0.2.1/")]
    return lambda: save_profile(store, User(ALICE, "alice"), "", "", facts, "https://retwis.example/@alice/")


def for_many(work):
    """What a worker brings to the followers."""

    def begin(store, raw):
        return override_settings(DELIVER_INLINE_LIMIT=0)(lambda: work(store))

    return begin


def _tomorrow():
    return int(time.time()) + 24 * 3600


def _post_with_a_picture(store):
    red = decoded_picture()
    Pictures(store).add(CAROL, red)
    new = NewPost("Look", media=Media((Picture(red.digest),)))
    pid = Posts(store).publish(CAROL, new, "picture").pid
    return pid, red


def picture_deleted(store, raw):
    pid, red = _post_with_a_picture(store)
    act = Act(what="", by=BOB, whom=CAROL, post=pid, reason=WHY)
    return lambda: remove_by_staff(store, act, red.digest, BLOCKED)


def picture_described(store, raw):
    pid, red = _post_with_a_picture(store)
    return lambda: describe(store, CAROL, pid, {red.digest: "Red"})


def profile_picture_removed(store, raw):
    red = decoded_once(picture_file(), Shape.PROFILE)
    Pictures(store).add(CAROL, red)
    ProfilePictures(store).choose(CAROL, ProfilePicture.PICTURE, red.digest)
    act = Act(what="", by=BOB, whom=CAROL, reason=WHY)
    return lambda: remove_picture(store, act, ProfilePicture.PICTURE, red.digest, "")


def picture_allowed(store, raw):
    Pictures(store).block("f" * 40)
    return lambda: allow_picture(store, Act(what="", whom=CAROL, also="f" * 40), BOB, WHY)


def picture_decided(store, raw):
    picture_deleted(store, raw)
    make_admin(store, BOB)
    about = NewReport(CAROL, int(raw.zrange("updates:3", -1, -1)[0]), "other")
    Reports(store).make(BOB, about)
    return lambda: Reports(store).delete_picture(about, decoded_picture().digest, True, BOB, WHY)


OF_STAFF = {
    "a sanction": lambda s: ([], s.impose(State.FROZEN)),
    "a suspension for good": lambda s: ([], s.suspend()),
    "the end of a sanction": lambda s: ([s.impose(State.FROZEN)], s.lift()),
    "an appeal": lambda s: ([s.impose(State.FROZEN)], s.appeal()),
    "a granted appeal": lambda s: ([s.impose(State.FROZEN), s.appeal()], s.answer_appeal(True)),
    "a refused appeal": lambda s: ([s.impose(State.FROZEN), s.appeal()], s.answer_appeal(False)),
    "a new moderator": lambda s: ([], s.give(CAROL, Role.MODERATOR)),
    "a new admin": lambda s: ([s.impose(State.FROZEN)], s.give(CAROL, Role.ADMIN)),
    "a report about a person": lambda s: ([], s.report(ALICE)),
    "a report about a post": lambda s: ([], s.report(ALICE, 2)),
    "a decision to suspend": lambda s: ([s.report(ALICE)], s.decide(Action.SUSPEND)),
    "a decision to delete a post": lambda s: ([s.report(ALICE, 2), s.report(BOB, 2)], s.decide(Action.DELETE)),
    "a decision about two posts and their author": lambda s: (
        [s.report(BOB), s.report(BOB, 3), s.report(ALICE, 3), s.post(CAROL, "Buy!"), s.report(BOB, 2)],
        s.decide(Action.DELETE, Action.SUSPEND, told="Thank you.", also="3 0"),
    ),
    "a deletion by staff": lambda s: ([], s.delete_by_staff()),
}
# Each makes ready what it needs, and returns the write.
WRITES = {
    **{name: of_staff(acts) for name, acts in OF_STAFF.items()},
    "a post": lambda s, raw: lambda: Posts(s).publish(CAROL, NewPost("Hello @bob"), "t"),
    "a post for many": for_many(lambda s: Posts(s).publish(CAROL, NewPost("Hello"), "t")),
    "a repost for many": for_many(lambda s: Reposts(s).repost(CAROL, 1, BOB)),
    "an answer": lambda s, raw: lambda: Posts(s).publish(ALICE, NewPost("Yes", reply_to=1), "t"),
    "an edit": edited,
    "a deletion of a post": lambda s, raw: lambda: Posts(s).delete(CAROL, 2),
    "a deletion below a tombstone": answer_under_a_tombstone,
    "posts of a download": lambda s, raw: Acts(s).bring_back(CAROL, texts=(Version(5, "late"), Version(6, "later"))),
    **{f"{name}: {verb}": relation(name, verb) for name in CASES for verb in ("set", "unset")},
    "a registration": lambda s, raw: lambda: Registration(s).register("dora", "hash"),
    "an invited person": invited,
    "an approval": answered(lambda answers, at: answers.approve("dora", at, CAROL)),
    "a refusal": answered(lambda answers, at: answers.refuse("dora", at, CAROL, "No")),
    "a name": lambda s, raw: lambda: NameIndex(s).edit(User(ALICE, "alice"), "Ann", "Me"),
    "links on a profile": linked,
    "a password": lambda s, raw: lambda: Sessions(s).change_password(ALICE, "another hash"),
    "a logout everywhere": lambda s, raw: lambda: Sessions(s).end_all(ALICE),
    "an old password": with_an_old_hash(lambda s: s.replace_old_password(ALICE, "secret1", "a new hash")),
    "a password instead of an old one": with_an_old_hash(lambda s: s.change_password(ALICE, "another hash")),
    "a deletion of an account": lambda s, raw: lambda: AccountDeletion(s).delete(User(CAROL, "carol"), "secret3"),
    "a sanction for a day": lambda s, raw: lambda: Sanctions(s).impose(ALICE, State.HIDDEN, WHY, _tomorrow()),
    "the end of a role": demoted,
    "the site's words": lambda s, raw: lambda: change_site(s, {"name": "Ours", "tagline": ""}),
    "a picture that staff deletes": picture_deleted,
    "a description of a picture": picture_described,
    "a profile's picture that staff removes": profile_picture_removed,
    "a picture that staff deletes and tells of": picture_decided,
    "a picture that staff allows again": picture_allowed,
}
each_write = pytest.mark.parametrize("begin", WRITES.values(), ids=WRITES)


@pytest.fixture
def begun(store, raw, monkeypatch):
    """`begun(begin)`: a new small site, and the write that is ready in it. Lists are there, so that pushes count."""

    monkeypatch.setattr("timeline.account_data.restoring.time.sleep", lambda seconds: None)

    def anew(begin):
        make_moderated_site(raw)
        for key in ("posts:1", "posts:2", "posts:3"):
            raw.rpush(key, "0")
        raw.set("next_post_id", 950)  # so that a download may keep its ids
        work = begin(store, raw)
        make_due(raw)
        drain(store, "earlier")
        assert waiting(raw) == []
        return work

    return anew


def waiting(raw):
    """The jobs that are not for a later day."""
    return [job for job in noted(raw) if not job.startswith(("removal:", "picture:", "sanction_end:"))]


def finish_all(store, raw):
    for _ in range(2):
        for job in waiting(raw):
            raw.zadd(next(key for key in raw.keys("outbox*") if raw.zscore(key, job) is not None), {job: 1})
        for key in raw.keys("lease:*"):
            raw.delete(key)
        drain(store, "another worker")


def go_on(work):
    """What the process does that has become too slow. It stops, or says that the store was too slow."""
    with contextlib.suppress(StoreError, Refused, NoSuchUser):
        work()


@each_write
def test_an_owner_changes_nothing_after_its_lease(store, raw, begun, begin, minutes):
    seen = 0
    for step in each_moment(1, stride()):
        work = begun(begin)
        after = []

        def a_minute_passes(after=after):
            if any(not job.startswith("lists:") for job in waiting(raw)):  # that one is for what was written before
                minutes.pass_one()
                finish_all(store, raw)
                Memory.clear_all()
                after.append(everything(raw))

        with before_round_trip(step, a_minute_passes):
            go_on(work)
        if after:
            seen += 1
            assert everything(raw) == after[0], step
    assert seen > 0


@each_write
def test_a_worker_changes_nothing_after_its_lease(store, raw, begun, begin, minutes, round_trips):
    """The owner has died after its commit, before the last of its round trips that leaves a job."""
    death = len(round_trips(begun(begin)).round_trips) - 1
    while not (killed_before_round_trip(death, begun(begin)) and waiting(raw)):
        death -= 1  # what it has done alone, it ends after the job
    seen = 0
    for step in range(3, 99, stride()):  # in two round trips the worker finds and claims a job
        killed_before_round_trip(death, begun(begin))
        make_due(raw)
        after = []

        def a_minute_passes(after=after):
            minutes.pass_one()
            finish_all(store, raw)
            Memory.clear_all()
            after.append(everything(raw))

        with before_round_trip(step, a_minute_passes) as happened:
            drain(store, "slow worker")
        if not happened:
            break
        seen += 1
        assert everything(raw) == after[0], step
    assert seen > 0


def test_a_reindex_changes_nothing_after_its_lease(store, raw, minutes, monkeypatch):
    """Another run begins a minute later, and ends."""
    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)

    def reindex():
        running = Rebuilding(store)
        running.begin()
        deque(running)

    for step in each_moment(1):
        make_small_site(raw)
        reindex()
        after = []

        def a_minute_passes(after=after):
            minutes.pass_one()
            raw.delete("lease:reindex")
            reindex()
            after.append(everything(raw))

        with before_round_trip(step, a_minute_passes), contextlib.suppress(LeaseEnded):
            reindex()
        assert everything(raw) == (after or [everything(raw)])[0], step
    assert step > 10


def test_a_lease_does_not_last_longer_because_its_worker_is_stopped_after_the_store_has_renewed_it(
    store, raw, minutes, monkeypatch
):
    real = Outbox.renew

    def stopped_afterwards(self, name):
        real(self, name)
        minutes.pass_one()

    monkeypatch.setattr(Outbox, "renew", stopped_afterwards)
    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)
    add_overdue_job(raw, "user:1")
    [claim] = Outbox(store).claim(["user:1"], "slow worker", lambda: False)
    claim.carry_out([1])
    assert raw.ttl("lease:user:1") > 0
    with pytest.raises(LeaseEnded):
        claim.outbox.done(claim.name)


def test_a_renewal_that_the_store_refuses_does_not_make_the_lease_longer(store, raw, minutes, monkeypatch):
    def refused(self, *arguments):
        raise StoreRefused("the store refused EXPIRE")

    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)
    add_overdue_job(raw, "user:1")
    [claim] = Outbox(store).claim(["user:1"], "worker", lambda: False)
    monkeypatch.setattr(Commands, "expire", refused)
    before = vars(claim.store).copy()
    assert claim.carry_out([1])
    assert vars(claim.store) == before


def test_each_kind_of_job_has_its_write_here(store, raw, begun, sent):
    for begin in WRITES.values():
        work = begun(begin)
        work()
        drain_due(store, raw)
    added = [command for command in sent.commands if command[0] == "ZADD" and str(command[1]).startswith("outbox")]
    kinds = {kind for feature in features() for kind in (*feature.jobs, *feature.batches)}
    assert kinds - {str(part).partition(":")[0] for command in added for part in command[2:]} == set()


# Caches, counters, tokens of forms, the index, jobs of a later day, and what `cleanup` has moved.
PASSING = ("posts:", "timeline", "next_", "idem:", "postings:", "posting_", "outbox", "damaged:")
DRAW_AGAIN = {"an invited person", "an approval"}  # a worker makes the account with another secret


@pytest.fixture
def begun_alike(begun, raw, monkeypatch):
    """Like `begun`, at the same time and with the same ids each time. alice follows carol since before."""
    now, drawn = int(time.time()), []

    def token(size):
        drawn.append(size)
        return len(drawn).to_bytes(size, "big").hex()

    def anew(begin):
        drawn.clear()
        work = begun(begin)
        raw.zadd("notices:3", {"follow:3:1": 1})
        return work

    monkeypatch.setattr("time.time", lambda: now)
    monkeypatch.setattr("time.time_ns", lambda: now * 10**9)
    monkeypatch.setattr("secrets.token_hex", token)
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)  # `cleanup` waits for no report
    return anew


def without_empty_fields(value):
    return {name: text for name, text in value.items() if text} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", [name for name in WRITES if name not in DRAW_AGAIN])
def test_a_killed_write_has_no_effect_or_its_full_effect(store, raw, begun_alike, name):
    def lasting():
        finish_all(store, raw)
        assert waiting(raw) == []
        stored = everything(raw)
        return {key: without_empty_fields(stored[key]) for key in stored if not key.startswith(PASSING)}

    begun_alike(WRITES[name])
    none = lasting()
    begun_alike(WRITES[name])()
    full = lasting()
    assert none != full
    for step in each_moment():
        killed_before_round_trip(step, begun_alike(WRITES[name]))
        if lasting() not in (none, full):
            call_command("cleanup", verbosity=0)
            assert lasting() in (none, full), step
