"""Files of personal downloads."""

import json

from accounts.community.log import Act
from accounts.community.sanctions import Appeal
from tests.support.people import LONG_AGO

WHEN = "2023-11-14T22:13:20Z"


def download_file(posts, following=(), **account):
    """A file of alice's, as bytes. `posts`, newest first: (id, time, text)."""
    about = {"id": 1, "username": "Alice", "name": "", "bio": "", "language": "", "registered": None, "address": ""}
    lines = [
        {"type": "export", "format": "retwis-export", "version": 1, "exported_at": WHEN},
        {"type": "account", **about, **account},
        *({"type": "following", "id": 99, "username": name, "since": WHEN} for name in following),
        *({"type": "post", "id": pid, "time": when, "text": text, "address": ""} for pid, when, text in posts),
    ]
    lines.append({"type": "end", "lines": len(lines) + 1})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def write_invitations(raw):
    """bob has invited alice, and she has an open invitation."""
    raw.hset("user:1", "invited_by", 2)
    raw.hset("invites:1", "1-4000000000-abc", 2)


def write_act_and_appeal(raw):
    """alice was frozen for a day, and has appealed."""
    act = Act(what="frozen", whom=1, by=2, reason="insults", until=LONG_AGO + 86400, at=(LONG_AGO + 40) * 1000)
    raw.zadd("acts:1", {act.line(): act.at})
    raw.hset("user:1", "appeal", Appeal(act.id, "I am sorry.", LONG_AGO + 100).stored())


def write_report(raw):
    """alice has reported post 3, which is bob's."""
    rid = (LONG_AGO + 400) * 10**6
    raw.hset(f"report:{rid}", mapping={"who": 1, "whom": 2, "pid": 3, "reason": "spam", "note": "Ads."})
    raw.zadd("reports_by:1", {"2:3": rid})
