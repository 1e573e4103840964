"""Two moderators, an edit and a deletion change the pictures of one post at once, and processes are killed: no change
undoes another one, and nothing of a deleted post is left."""

import json

import pytest

from accounts.community.log import Act
from accounts.media.repository import Pictures
from retwis_site.exceptions import StoreError
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.delivering import drain_due
from tests.support.pictures import decoded_picture
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.small_site import ALICE, BOB, make_small_site
from tests.support.protocols.thoroughness import examples
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import each_moment, killed_before_part
from timeline.posts.entities import Media, NewPost, NoSuchPost, Picture, PostDeleted
from timeline.posts.pictures import describe, remove_by_staff
from timeline.posts.repository import Posts

RUNS = 30  # seeds for each scenario
COLOURS = ("red", "blue", "lime")
RED, BLUE, LIME = (decoded_picture(colour).digest for colour in COLOURS)


def remove(store, pid, digest):
    act = Act(what="", by=BOB, whom=ALICE, post=pid)
    return attempt(lambda: remove_by_staff(store, act, digest, blocks=False), StoreError)


def say(store, pid, **alts):
    named = {decoded_picture(colour).digest: alt for colour, alt in alts.items()}
    return attempt(lambda: describe(store, ALICE, pid, named), NoSuchPost, StoreError)


def delete(store, pid):
    return attempt(lambda: Posts(store).delete(ALICE, pid), NoSuchPost, PostDeleted, StoreError)


def shown(raw, pid):
    media = raw.hget(f"post:{pid}", "media")
    return {one[0]: one[3] for one in json.loads(media)["pictures"]} if media else {}


SCENARIOS = {
    "two moderators": (lambda s, p: [remove(s, p, RED), remove(s, p, BLUE)], {LIME: ""}),
    "three moderators": (lambda s, p: [remove(s, p, one) for one in (RED, BLUE, LIME)], {}),
    "a moderator and an edit": (
        lambda s, p: [remove(s, p, RED), say(s, p, red="Red", blue="Blue")],
        {BLUE: "Blue", LIME: ""},
    ),
    "two edits of two descriptions, and a moderator": (
        lambda s, p: [say(s, p, red="Red"), say(s, p, blue="Blue"), remove(s, p, LIME)],
        {RED: "Red", BLUE: "Blue"},
    ),
}


def post_with_pictures(store, raw, layout):
    make_small_site(raw, layout)
    Memory.clear_all()
    for colour in COLOURS:
        Pictures(store).add(ALICE, decoded_picture(colour))
    media = Media(tuple(Picture(digest) for digest in (RED, BLUE, LIME)))
    return Posts(store).publish(ALICE, NewPost("Look", media=media), "t").pid


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_change_undoes_another_one(store, raw, layout, scenario):
    changes, left = SCENARIOS[scenario]
    for seed in range(examples(RUNS)):
        pid = post_with_pictures(store, raw, layout)
        interleave(seed, 0, changes(store, pid))
        assert shown(raw, pid) == left, seed
        drain_due(store, raw)
        assert {*raw.zrange("media_sizes", 0, -1)} == {*left}, seed


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_worker_finishes_the_changes_of_killed_processes(store, raw, layout, scenario):
    """A change whose job is there is done in the end; one that was killed before may be missing. A job that comes twice
    changes nothing."""
    changes, left = SCENARIOS[scenario]
    for seed in range(examples(RUNS)):
        pid = post_with_pictures(store, raw, layout)
        interleave(seed, 2, [*changes(store, pid), lambda: take_all_over(store)])
        drain_due(store, raw)
        assert noted(raw) == []
        now, fields = shown(raw, pid), raw.hgetall(f"post:{pid}")
        removed = {name.partition(":")[2] for name in fields if name.startswith("removed:")}
        assert now.keys() == {RED, BLUE, LIME} - removed, seed
        assert {*raw.zrange("media_sizes", 0, -1)} == {*now}, seed
        assert removed.isdisjoint(left), seed
        said = {name.partition(":")[2]: alt for name, alt in fields.items() if name.startswith("alt:")}
        assert said == {digest: alt for digest, alt in now.items() if alt}, seed


def test_nothing_of_the_pictures_of_a_deleted_post_is_left(store, raw, layout):
    for seed in range(examples(RUNS)):
        pid = post_with_pictures(store, raw, layout)
        changes = [say(store, pid, red="Red"), remove(store, pid, BLUE), delete(store, pid)]
        interleave(seed, seed % 2, [*changes, lambda: take_all_over(store)])
        drain_due(store, raw)
        delete(store, pid)()
        drain(store, "worker")
        names = raw.hkeys(f"post:{pid}")
        assert not [name for name in names if name == "media" or name.startswith("alt:")], (seed, names)
        drain_due(store, raw)
        assert list(raw.zrange("media_sizes", 0, -1)) == [], seed


LOOK = "f0" * 16


def test_a_block_that_a_worker_repeats_when_the_picture_is_gone_knows_how_it_looks(store, raw, layout):
    for step in each_moment():
        pid = post_with_pictures(store, raw, layout)
        raw.hset(f"media_info:{RED}", "look", LOOK)
        act = Act(what="", by=BOB, whom=ALICE, post=pid)
        killed_before_part(step, lambda act=act: remove_by_staff(store, act, RED, blocks=True))
        drain_due(store, raw)
        assert noted(raw) == []
        if RED not in shown(raw, pid):
            assert raw.hgetall("blocked_media") == {RED: LOOK}, step
            assert not raw.exists(f"media_info:{RED}"), step
    assert RED not in shown(raw, pid)
