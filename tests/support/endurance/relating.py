"""What people of the soak do with people, posts and tags of others, and take back."""

from tests.support.endurance.reading import TAGS

PEOPLE = {"following": ("follow", "unfollow"), "blocked": ("block", "unblock"), "muted": ("mute", "unmute")}
POSTS = {
    "likes": ("like", "unlike"),
    "reposts": ("repost", "unrepost"),
    "bookmarks": ("bookmark", "unbookmark"),
    "muted_threads": ("mute", "unmute"),
}


def _change_person(me, relation):
    them = me.someone()
    stood = [name for kind, name in me.account.edges if kind == relation and name in me.crowd.names]
    undo = bool(stood) and me.random.random() < 0.4
    them = me.random.choice(stood) if undo else them
    if them == me.name:
        return
    if relation == "blocked" and not undo:
        me.crowd.blocked.add((me.name, them))
    fields = {"what": "all", "days": ""} if relation == "muted" else {}
    sent = me.send(f"/@{them}/{PEOPLE[relation][undo]}/", **fields)
    me.note(relation, them, sent, not undo)


def follow(me):
    _change_person(me, "following")


def block(me):
    _change_person(me, "blocked")


def mute(me):
    _change_person(me, "muted")


def _change_post(me, relation):
    found = me.some_post()
    if found is None:
        return
    author, pid = found
    undo = bool(me.account.edges.get((relation, pid))) or me.random.random() < 0.1
    sent = me.send(f"/@{author}/{pid}/{POSTS[relation][undo]}/")
    me.note(relation, pid, sent, not undo)


def like(me):
    _change_post(me, "likes")


def repost(me):
    _change_post(me, "reposts")


def bookmark(me):
    _change_post(me, "bookmarks")


def mute_thread(me):
    _change_post(me, "muted_threads")


def follow_tag(me):
    tag = me.random.choice(TAGS)
    undo = bool(me.account.edges.get(("tags_of", tag)))
    sent = me.send(f"/tags/{tag}/" + ("unfollow/" if undo else "follow/"))
    me.note("tags_of", tag, sent, not undo)


RELATING = {follow: 12, like: 10, repost: 5, bookmark: 4, mute_thread: 1, block: 2, mute: 2, follow_tag: 2}
