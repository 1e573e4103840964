"""What tests say about a site: who registers, what a command prints, what the keys hold."""

from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.entities import Login
from accounts.repositories import Users
from retwis_site.store import Store

PASSWORD = "correct horse battery"


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


def left_behind(raw, intent):
    """An owner died; its intent is overdue."""
    raw.zadd("outbox", {intent: 1_700_000_000})


# Somebody else who has the embedded server until their standard input ends.
