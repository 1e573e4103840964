"""Appeals against sanctions, as they are stored."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_id, whole
from retwis_site.store.replies import Reply

PAGE = 20


@dataclass(frozen=True)
class Appeal:
    """What a person says about what is imposed on them."""

    uid: int
    act_id: str  # of the act that imposed it
    text: str
    at: int  # unix seconds

    @property
    def member(self) -> str:
        """In the sorted set of open appeals."""
        return f"{self.uid}:{self.act_id}"

    def stored(self) -> str:
        """As the field `appeal` of the person's hash."""
        return json.dumps({"act": self.act_id, "at": self.at, "text": self.text}, ensure_ascii=False)


def answer_of(act_id: str) -> str:
    """The field with the decision about an appeal against the sanction of this act."""
    return f"answer:{act_id}"


def read_appeal(uid: int, stored: str | None) -> Appeal | None:
    """The appeal in the field `appeal`; None for any other text."""
    try:
        fields = json.loads(stored or "{}")
        act_id, text, at = fields["act"], fields["text"], fields["at"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(act_id, str) or not isinstance(text, str) or not isinstance(at, int):
        return None
    return Appeal(uid, act_id, text, at)


class AppealPage(NamedTuple):
    """A page of open appeals, newest first."""

    appeals: list[Appeal]
    older: int | None  # `before` of the next page; None on the last one


def open_appeals(store: Store, before: int | None = None) -> AppealPage:
    """The newest open appeals, or those before a moment in unix seconds: PAGE of them, and the others of the last
    second, so that none is left out between two pages. Three round trips at most."""
    key = keys.appeals()
    rows = store.zrevrangebyscore_withscores(key, "+inf" if before is None else f"({before}", "-inf", 0, PAGE)
    older = whole(rows[-1][1]) if len(rows) == PAGE else None
    if older is not None:
        rows = [*rows, *store.zrevrangebyscore_withscores(key, str(older), str(older), 0, AT_ONCE)]
    members = dict(rows)
    uids = [uid for member in members if (uid := stored_id(key, member.partition(":")[0])) is not None]
    pipe = store.pipeline()
    asked = [(uid, pipe.hget(keys.user(uid), "appeal")) for uid in uids]
    pipe.execute()
    found = [read_appeal(uid, text.value) for uid, text in asked]
    return AppealPage([appeal for appeal in found if appeal is not None and appeal.member in members], older)


def ask_open(pipe: Pipe) -> Reply[int]:
    """The number of open appeals. One command."""
    return pipe.zcard(keys.appeals())
