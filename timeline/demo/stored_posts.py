"""The posts of the demo community as commands, in the form in which the site's own writes leave them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe
from timeline.demo.threads import DEMO, EDITED_AFTER, Draft
from timeline.notices.inbox import Kind, Notice
from timeline.posts.entities import Links
from timeline.posts.links import in_index, tags_in
from timeline.posts.reading.records import link_fields
from timeline.posts.repository import MOST_ABOVE
from timeline.posts.settling import QUOTES, REPLIES, listings_of
from timeline.relations.relations import LIKE, LIKES, REPOST, REPOSTS

# ---- The commands that write the demo community.


@dataclass(frozen=True)
class Step:
    """One HSET or ZADD: a hash's fields, or a sorted set's members with their scores."""

    key: str
    fields: dict[str, str] | None = None
    members: dict[str, int] | None = None

    def parts(self, size: int) -> Iterator["Step"]:
        """Several commands of at most `size` fields or members, so that none keeps the server busy for long."""
        if len(self.fields or ()) + len(self.members or ()) in range(1, size + 1):  # most
            yield self
            return
        for fields in batches((self.fields or {}).items(), size):
            yield Step(self.key, fields=dict(fields))
        for members in batches((self.members or {}).items(), size):
            yield Step(self.key, members=dict(members))

    def queue(self, pipe: Pipe) -> None:
        if self.fields is not None:
            pipe.hset(self.key, self.fields)
        if self.members is not None:
            pipe.zadd(self.key, self.members)


# ---- Stored posts


DELETED_AFTER = 3600  # seconds


class StoredPosts:
    """All that follows from the posts of a community."""

    def __init__(self, drafts: Sequence[Draft], now: int) -> None:
        self._drafts = drafts
        self._now = now
        self._sets: dict[str, dict[str, int]] = defaultdict(dict)  # members with scores, by key

    def steps(self) -> Iterator[Step]:
        """All commands: the sets first, because the numbers in the hashes are counted from them."""
        spellings: dict[str, str] = {}
        for draft in self._drafts:
            if not draft.is_deleted:
                self._sets[keys.updates(draft.author)][str(draft.pid)] = draft.pid
            for listing in listings_of(links(draft), "" if draft.is_deleted else draft.text):
                self._sets[listing.key][str(draft.pid)] = draft.pid
            spellings = tags_in(draft.text) | spellings  # the first spelling stays
            self._relate(draft)
        for key, members in self._sets.items():
            yield Step(key, members=members)
        for draft in self._drafts:
            yield Step(keys.post(draft.pid), fields=self._fields(draft))
            if draft.first_text:
                texts = {str(draft.when): draft.first_text, str(draft.when + EDITED_AFTER): draft.text}
                yield Step(keys.edits(draft.pid), fields=texts)
        yield Step(keys.tags(), fields=spellings)
        yield Step(keys.tags_by_name(), members={in_index(tag): 0 for tag in spellings})

    def _relate(self, draft: Draft) -> None:
        """The likes of a post, or whose repost it is."""
        for uid, when in draft.likes.items():
            self._sets[LIKE.truth(uid)][str(draft.pid)] = when
            self._sets[keys.liked_by(draft.pid)][str(uid)] = when
        if draft.reposts:
            self._sets[REPOST.truth(draft.author)][str(draft.reposts.pid)] = draft.pid
            self._sets[keys.reposted_by(draft.reposts.pid)][str(draft.author)] = draft.pid

    def _fields(self, draft: Draft) -> dict[str, str]:
        fields = {"user_id": str(draft.author), "time": str(draft.when), **link_fields(links(draft))}
        if draft.reposts:
            return fields
        if draft.is_deleted:
            return fields | {"body": "", "deleted": str(min(self._now, draft.when + DELETED_AFTER))}
        fields["body"] = draft.text
        if draft.first_text:
            fields["edited"] = str(draft.when + EDITED_AFTER)
        for count in (LIKES, REPOSTS, REPLIES, QUOTES):
            members = self._sets.get(count.mirror(draft.pid))
            if members:
                fields[count.name] = str(len(members))
        return fields


def links(draft: Draft) -> Links:
    """What a post names."""
    above = draft.above
    return Links(
        reply_to=above[0].pid if above else None,
        root=above[-1].pid if above else None,
        reply_to_user=above[0].author if above else None,
        above=tuple(other.pid for other in above[:MOST_ABOVE]),
        quote=draft.quotes.pid if draft.quotes else None,
        repost_of=draft.reposts.pid if draft.reposts else None,
        mentions=draft.mentions,
    )


def demo_notices(drafts: Sequence[Draft]) -> dict[Notice, int]:
    """What the posts and likes of others tell the demo user, with the dates. The other users have no notices."""
    found: dict[Notice, int] = {}
    for draft in drafts:
        if draft.author == DEMO:
            found |= {Notice(Kind.LIKE, draft.pid, uid): when for uid, when in draft.likes.items()}
            continue
        kind = _kind(draft)
        if kind and not draft.is_deleted:
            what = draft.reposts.pid if draft.reposts else draft.pid
            found[Notice(kind, what, draft.author)] = draft.when
    return found


def _kind(draft: Draft) -> Kind | None:
    """What a post is to the demo user."""
    if draft.answers and draft.answers.author == DEMO:
        return Kind.REPLY
    if draft.quotes and draft.quotes.author == DEMO:
        return Kind.QUOTE
    if draft.reposts and draft.reposts.author == DEMO:
        return Kind.REPOST
    return Kind.MENTION if DEMO in (draft.mentions or ()) else None
