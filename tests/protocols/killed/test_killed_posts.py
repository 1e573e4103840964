"""Posts, replies, quotes, edits, reposts, edges and the index, killed between any two commands."""

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from tests.support.processes.scenes import ALICE, BOB, CAROL, MOST, NO_KILL, kill_at_every_command
from tests.support.protocols.notices import assert_notices_agree
from tests.support.protocols.small_site import Acts
from tests.support.stored_keys import follower_counts, publish, ranking
from tests.support.stores.indexed_posts import posts_under
from timeline.posts.delivery import Reposts
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Likes
from timeline.search.index import BUCKETS


def check_post(scene, where, through):
    """Every home has the new post once, or no home has it. After the form is sent again, every home has it once."""
    seen = scene.home(scene.alice)
    assert seen in (["Before"], ["Hello", "Before"]), where
    assert len(seen) == 2 or not through, where
    for _ in range(2):
        assert scene.home(scene.bob) == scene.home(scene.carol) == scene.everyone() == seen, where
    scene.cut.after(NO_KILL)
    scene.victims.run(path="/post/", form={"body": "Hello", "token": "t"}, secret=scene.secret(scene.alice))
    Memory.clear_all()
    for login in (scene.alice, scene.bob, scene.carol):
        assert scene.home(login) == ["Hello", "Before"], where


def test_a_post(scene, capsys):
    def work(scene):
        return {"path": "/post/", "form": {"body": "Hello", "token": "t"}, "secret": scene.secret(scene.alice)}

    kill_at_every_command(scene, capsys, work, check_post)


def test_a_post_that_a_worker_delivers(scene, capsys):
    def work(scene):
        form = {"body": "Hello", "token": "t"}
        return {"path": "/post/", "form": form, "secret": scene.secret(scene.alice), "inline_limit": 1}

    kill_at_every_command(scene, capsys, work, check_post)


@pytest.mark.parametrize("left", ["whole", "its followers"])
def test_a_delivery_by_a_worker(scene, capsys, left):
    """A killed request has left the whole delivery, or a request has left the delivery to the followers."""

    def work(scene):
        pid = scene.raw.incr("next_post_id")
        scene.raw.hset(f"post:{pid}", mapping={"user_id": ALICE, "time": 1, "body": "Hello"})
        scene.raw.set(f"idem:{ALICE}:t", pid, ex=600)
        if left == "its followers":
            scene.raw.zadd(f"updates:{ALICE}", {pid: pid})
            scene.raw.lpushx(f"posts:{ALICE}", pid)
            scene.raw.lpush("timeline", pid)
        scene.raw.zadd("outbox", {f"{'post' if left == 'whole' else 'fan'}:{pid}:x": 1})
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert scene.home(scene.alice) == ["Hello", "Before"], where
        check_post(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)


def test_a_deletion(scene, capsys):
    def work(scene):
        return {"path": f"/@alice/{scene.pid}/delete/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        deleted = scene.raw.hexists(f"post:{scene.pid}", "deleted")
        assert deleted or not through, where
        assert scene.raw.zcard("updates:1") == (0 if deleted else 1), where
        assert (scene.raw.ttl(f"post:{scene.pid}") > 0) == deleted, where
        for login in (scene.alice, scene.bob, scene.carol):
            assert scene.home(login) == ([] if deleted else ["Before"]), where

    kill_at_every_command(scene, capsys, work, check)


def test_a_rebuild(scene, capsys):
    def work(scene):
        return {"path": "/", "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        publish(scene.raw, connect(), scene.alice, "After")
        for _ in range(2):
            assert scene.home(scene.carol) == ["After", "Before"], where
        assert scene.raw.ttl("posts:3") > 0 or not through, where

    kill_at_every_command(scene, capsys, work, check)


# ---- Replies, quotes, edits, reposts and deletions of posts with replies, killed between any two commands.


BODY = "Yes, @carol! #redis"


def check_reply(scene, where, through):
    """Everyone whom it concerns has the reply, or no one. After the form is sent again, everyone has it once."""
    seen = scene.home(scene.bob)
    assert seen in (["Before"], [BODY, "Before"]), where
    assert len(seen) == 2 or not through, where
    assert_reply_stands(scene, where, len(seen) - 1)
    scene.cut.after(NO_KILL)
    scene.victims.run(**reply(scene))
    assert_reply_stands(scene, where, 1)


def assert_reply_stands(scene, where, times):
    assert_notices_agree(scene.raw, where)
    for key in (f"thread:{scene.pid}", f"quotes_of:{scene.pid}", "tag:redis", "updates:2"):
        assert scene.raw.zcard(key) == times, (where, key)
    assert scene.home(scene.carol) == [BODY, "Before"][1 - times :], where


def reply(scene):
    """bob's reply to alice, of which carol learns, who follows both."""
    form = {"body": BODY, "reply_to": scene.pid, "quote": scene.pid, "token": "t"}
    return {"path": "/post/", "form": form, "secret": scene.secret(scene.bob)}


def test_a_reply_with_a_quote_a_mention_and_a_tag(scene, capsys):
    def work(scene):
        Follows(connect()).follow(CAROL, BOB)
        return reply(scene)

    kill_at_every_command(scene, capsys, work, check_reply)


def test_a_worker_that_delivers_a_reply(scene, capsys):
    """The request has died just after its commit."""

    def work(scene):
        Follows(connect()).follow(CAROL, BOB)
        pid = scene.raw.incr("next_post_id")
        of = str(scene.pid)
        links = {"reply_to": of, "root": of, "reply_to_user": ALICE, "above": of, "quote": of, "mentions": CAROL}
        scene.raw.hset(f"post:{pid}", mapping={"user_id": BOB, "time": 1, "body": BODY, **links})
        scene.raw.set(f"idem:{BOB}:t", pid, ex=600)
        scene.raw.zadd("outbox", {f"post:{pid}:x": 1})
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        check_reply(scene, where, through=True)

    kill_at_every_command(scene, capsys, work, check)


def test_an_edit(scene, capsys):
    def work(scene):
        form = {"body": BODY}
        return {"path": f"/@alice/{scene.pid}/edit/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        body = scene.raw.hget(f"post:{scene.pid}", "body")
        assert body == BODY or not through, where
        texts = scene.raw.hvals(f"edits:{scene.pid}")  # the first one is kept just before the new one
        assert sorted(texts) == ["Before", BODY] if body == BODY else texts in ([], ["Before"]), where
        assert scene.raw.zcard("tag:redis") == (body == BODY), where
        assert scene.home(scene.bob) == scene.home(scene.carol) == scene.everyone() == [body], where
        assert_notices_agree(scene.raw, where)

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("verb", ["like", "unlike", "repost", "unrepost"])
def test_an_action_on_a_post(scene, capsys, verb):
    kind = verb.removeprefix("un")

    def work(scene):
        Follows(connect()).follow(CAROL, BOB)
        if verb == "like":
            Likes(connect()).unlike(BOB, scene.pid, ALICE)
        if verb == "unrepost":
            Reposts(connect()).repost(BOB, scene.pid, ALICE)
        return {"path": f"/@alice/{scene.pid}/{verb}/", "form": {}, "secret": scene.secret(scene.bob)}

    def check(scene, where, through):
        stands = scene.raw.zscore(f"{kind}s:2", scene.pid) is not None
        assert not through or stands == (verb == kind), where
        for login in (scene.bob, scene.carol):
            assert scene.home(login) == ["Before"], where
        assert_notices_agree(scene.raw, where)

    kill_at_every_command(scene, capsys, work, check)


def test_a_block(scene, capsys):
    def work(scene):
        Follows(connect()).follow(ALICE, CAROL)
        return {"path": "/@alice/block/", "form": {}, "secret": scene.secret(scene.carol)}

    def check(scene, where, through):
        blocks = scene.raw.zscore("blocked:3", ALICE) is not None
        assert blocks or not through, where
        assert scene.raw.exists("following:1", "following:3") == (0 if blocks else 2), where
        assert scene.home(scene.carol) == ([] if blocks else ["Before"]), where
        left = [one for uid in (ALICE, CAROL) for one in scene.raw.zrange(f"notices:{uid}", 0, -1)]
        assert sorted(left) == sorted(
            ["follow:1:2", "like:1:2", *([] if blocks else ["follow:1:3", "follow:3:1", "like:1:3"])]
        ), where

    kill_at_every_command(scene, capsys, work, check)


def test_the_deletion_of_a_post_with_a_reply(scene, capsys):
    """It stays as a tombstone. Its repost and its likes go."""

    def work(scene):
        acts = Acts(connect())
        for act in (acts.answer(BOB, scene.pid), acts.quote(CAROL, scene.pid), acts.repost(BOB, scene.pid, ALICE)):
            act()
        return {"path": f"/@alice/{scene.pid}/delete/", "form": {}, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        deleted = scene.raw.hexists(f"post:{scene.pid}", "deleted")
        assert deleted or not through, where
        assert scene.raw.zcard(f"thread:{scene.pid}") == 1, where
        assert scene.raw.exists(f"liked_by:{scene.pid}", f"reposted_by:{scene.pid}") == (0 if deleted else 2), where
        kept = [body for body in scene.everyone() if body != "Before"]
        assert kept == ["3 quotes 1", "2 answers 1"], where

    kill_at_every_command(scene, capsys, work, check)


# ---- The index of the search: a worker and `reindex`, killed between any two commands.


REINDEX = {"command": ["reindex"]}


def publish_some(scene):
    scene.cats = publish(scene.raw, connect(), scene.carol, "Feeding the cats")
    scene.dogs = publish(scene.raw, connect(), scene.carol, "Walking the dogs")


def check_found(scene, where):
    for term, pids in {"from:1": {scene.pid}, "cat": {scene.cats}, "dog": {scene.dogs}}.items():
        assert posts_under(connect(), term) == pids, (where, term)


def test_a_worker_that_indexes(scene, capsys):
    def work(scene):
        publish_some(scene)
        return {"command": ["deliver", "--once"]}

    kill_at_every_command(scene, capsys, work, lambda scene, where, through: check_found(scene, where))


def test_a_worker_that_indexes_an_edit(scene, capsys):
    def work(scene):
        publish_some(scene)
        drain(connect(), "before")
        Posts(connect()).edit(CAROL, scene.cats, "Feeding the birds")
        return {"command": ["deliver", "--once"]}

    def check(scene, where, through):
        assert posts_under(connect(), "bird") == {scene.cats}, where
        check_found(scene, where)  # the index keeps the word that an edit took away

    kill_at_every_command(scene, capsys, work, check)


def check_reindexed(scene, where, through):
    """After a kill, the next run completes it."""
    if not through:
        call_command("reindex", verbosity=0)
    assert not scene.raw.exists("search_index", "lease:reindex"), where
    check_found(scene, where)


def test_the_first_reindex(scene, capsys):
    def work(scene):
        publish_some(scene)
        scene.raw.delete("outbox", *scene.raw.keys("postings:*"))
        return REINDEX

    kill_at_every_command(scene, capsys, work, check_reindexed)


def test_a_reindex_of_an_index(scene, capsys):
    """Between, it removes the key of each bucket."""

    def work(scene):
        publish_some(scene)
        drain(connect(), "before")
        return REINDEX

    kill_at_every_command(
        scene, capsys, work, check_reindexed, [*range(8), BUCKETS // 2, *range(BUCKETS, BUCKETS + MOST)]
    )


# ---- Edges, killed between any two commands.


@pytest.mark.parametrize("verb", ["follow", "unfollow"])
def test_a_follow_or_unfollow(scene, capsys, verb):
    def work(scene):
        publish(scene.raw, connect(), scene.carol, "By carol")
        if verb == "unfollow":
            Follows(connect()).follow(BOB, CAROL)
        scene.home(scene.bob)
        return {"path": f"/@carol/{verb}/", "form": {}, "secret": scene.secret(scene.bob)}

    def check(scene, where, through):
        since = scene.raw.zscore("following:2", CAROL)
        assert scene.raw.zscore("followers:3", BOB) == since, where
        assert ranking(scene.raw) == follower_counts(scene.raw), where
        assert scene.home(scene.bob) == (["By carol", "Before"] if since else ["Before"]), where
        assert not through or (since is not None) == (verb == "follow"), where

    kill_at_every_command(scene, capsys, work, check)
