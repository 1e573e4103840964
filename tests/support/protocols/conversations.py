"""A thread on the small site, and what must hold of replies, quotes and edits."""

from tests.support.protocols.relations import counted
from tests.support.protocols.small_site import ALICE, CAROL
from timeline.posts.entities import NewPost
from timeline.posts.links import tags_in
from timeline.posts.repository import Posts

BOBS_POST = 1  # of the small site


def make_thread(store):
    """Alice answers bob's post, and carol answers alice. Returns the ids of the two answers."""
    first = Posts(store).publish(ALICE, NewPost("Yes #redis", reply_to=BOBS_POST), "first").pid
    return first, Posts(store).publish(CAROL, NewPost("No", reply_to=first), "second").pid


def _entries(raw, prefix):
    return {
        (int(key.partition(":")[2]), int(member))
        for key in raw.keys(f"{prefix}:*")
        for member in raw.zrange(key, 0, -1)
    }


def assert_conversations_agree(raw, where):
    """Threads, replies, quotes, their numbers, expiries and texts follow from the posts. For a site without jobs."""
    posts = {int(key.partition(":")[2]): raw.hgetall(key) for key in raw.keys("post:*")}
    expected = {"thread": set(), "replies_to": set(), "quotes_of": set()}
    replies = _entries(raw, "replies_to")
    answered = {to for to, _ in replies}
    in_tags = set()
    for pid, post in posts.items():
        published = raw.zscore(f"updates:{post['user_id']}", pid) is not None
        if "deleted" in post:
            assert not published, (where, pid)
            assert not post.get("body"), (where, pid)  # an id that was only claimed has none
            assert not raw.exists(f"edits:{pid}"), (where, pid)
            assert (raw.ttl(f"post:{pid}") == -1) == (pid in answered), (where, pid)
        if "reply_to" in post and (published or ("deleted" in post and pid in answered)):
            expected["thread"].add((int(post["root"]), pid))
            expected["replies_to"].add((int(post["reply_to"]), pid))
        if "quote" in post and published:
            expected["quotes_of"].add((int(post["quote"]), pid))
        if published:
            in_tags |= {(tag, pid) for tag in tags_in(post.get("body", ""))}
        texts = {int(since): text for since, text in raw.hgetall(f"edits:{pid}").items()}
        if texts:
            assert (int(post["edited"]), post["body"]) == max(texts.items()), (where, pid)
    for prefix, entries in expected.items():
        assert _entries(raw, prefix) == entries, (where, prefix)
    assert {(key[4:], int(pid)) for key in raw.keys("tag:*") for pid in raw.zrange(key, 0, -1)} == in_tags, where
    for pid, post in posts.items():
        for field, prefix in (("replies", "replies_to"), ("quotes", "quotes_of")):
            number = 0 if "deleted" in post else counted(raw, f"{prefix}:{pid}")
            assert post.get(field) == (str(number) if number else None), (where, pid, field)
