"""What tests say about a site: who registers, what a command prints, what the keys hold."""

from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.users.entities import Login
from accounts.users.names import entry
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.posts.repository import Posts

PASSWORD = "correct horse battery"
NEW_PASSWORD = "battery staple horse"
SECRET = "0123456789abcdef0123456789abcdef"
NEWER_SECRET = "fedcba9876543210fedcba9876543210"
LONG_AGO = 1_700_000_000
WEAK_PASSWORDS = [
    ("short1!", "too short"),
    ("password123", "too common"),
    ("x" * 129, "t most 128 characters"),
    ("a null \0 in it", "Null characters"),
]


def register(store: Store, username: str) -> Login:
    return Users(store).register(username, make_password(PASSWORD))


def said(capsys, *command, **options):
    """What a command prints; nothing but a log may go to stderr."""
    capsys.readouterr()
    call_command(*command, **options)
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def everything(raw):
    """All keys with what they hold."""
    read = {
        "string": raw.get,
        "hash": raw.hgetall,
        "list": lambda key: raw.lrange(key, 0, -1),
        "zset": lambda key: raw.zrange(key, 0, -1, withscores=True),
    }
    return {key: read[raw.type(key)](key) for key in raw.keys()}  # noqa: SIM118  a client, not a dict


def ranked(raw):
    """How many followers everybody has, as the ranking says."""
    return dict(raw.zrange("users_by_followers", 0, -1, withscores=True))


def counted(raw):
    """The same as `followers:` says."""
    return {key.partition(":")[2]: raw.zcard(key) for key in raw.keys("followers:*")}


def filed(raw):
    """What leads to people in the index of names, with its scores."""
    return dict(raw.zrange("users_by_name", 0, -1, withscores=True))


def called(raw):
    """The same as it should be, by the hashes of those who can be found by name."""
    right = {}
    for uid in raw.hvals("users"):
        username, name, deleted = raw.hmget(f"user:{uid}", "username", "name", "deleted")
        names = {username, name or username} if deleted is None else set()
        right |= {entry(one, int(uid)): 0 for one in names}
    return right


def left_behind(raw, intent):
    """An owner died; its intent is overdue."""
    raw.zadd(keys.outbox(intent), {intent: LONG_AGO})


def publish(raw, store, author, body):
    """The id of a new post."""
    Posts(store).publish(author.user.uid, body, body.replace(" ", "-"))
    return int(raw.get("next_post_id"))
