"""Somebody's data as a file of JSON lines: docs/export.md describes it, and a test holds it to that."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from accounts.users.entities import User
from retwis_site.store.client import Store
from timeline.account_data.records import Belongings
from timeline.posts.html.dates import iso

FORMAT, VERSION = "retwis-export", 1
CONTENT_TYPE = "application/x-ndjson; charset=utf-8"

Line = dict[str, Any]
AddressOf = Callable[..., str]  # of a page, by its view's name and arguments, with the site's name before it


def file_name(user: User) -> str:
    """Such as `retwis-alice-2026-11-20.jsonl`."""
    return f"retwis-{user.username}-{datetime.now(UTC):%Y-%m-%d}.jsonl"


def export(store: Store, user: User, address_of: AddressOf) -> Iterator[bytes]:
    """The file in pieces, of which the last alone says that it is whole. Two round trips a piece, three for the first.
    Raises StoreError, in the middle too."""
    written = 0
    for lines in _lines(store, user, address_of):
        written += len(lines)
        if lines:
            yield _encoded(lines)
    yield _encoded([{"type": "end", "lines": written + 1}])


def _lines(store: Store, user: User, address_of: AddressOf) -> Iterator[list[Line]]:
    belongings = Belongings(store, user)
    head: Line = {"type": "export", "format": FORMAT, "version": VERSION, "exported_at": iso(int(time.time()))}
    account = belongings.account()
    about: Line = {
        "type": "account",
        "id": user.uid,
        "username": user.username,
        "name": user.name,
        "bio": account.bio,
        "language": account.language,
        "registered": None if account.registered is None else iso(account.registered),
        "address": address_of("profile", user.username),
    }
    yield [head, about]
    for side, found in (("following", belongings.following()), ("follower", belongings.followers())):
        for edges in found:
            yield [
                {"type": side, "id": edge.user.uid, "username": edge.user.username, "since": iso(edge.since)}
                for edge in edges
            ]
    for posts in belongings.posts():
        yield [
            {
                "type": "post",
                "id": post.pid,
                "time": iso(post.time),
                "text": post.body,
                "address": address_of("post", user.username, post.pid),
            }
            for post in posts
        ]


def _encoded(lines: Iterable[Line]) -> bytes:
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
