"""`PostReader`: every list of posts is read through it.

A process keeps what never changes of a post: its author, and the post and the person that it names. For seconds it
keeps each post and each user (`accounts/users/repository.py`). Post and user are kept apart, so a page is never older
than the older of the two. What the viewer has done with a post is always read. So are the viewer's own posts, and those
on which they have acted a moment ago: people see at once what they did, on every worker.
"""

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from math import inf
from operator import is_not
from typing import NamedTuple

from django.utils.functional import cached_property

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import ask_people, keep as keep_people
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Result, Store, rest
from timeline.posts.entities import NO_CONTEXT, NO_LINKS, NOT_ACTED, Acted, Context, Post, Unavailable
from timeline.posts.reading import visibility
from timeline.posts.reading.cached_posts import (
    cached,
    cached_records,
    cached_whole,
    keep_whole,
    named_by,
    people_of,
    posts_of,
    records_of,
)
from timeline.posts.reading.records import Record, Stored, cached_author, fields_of, most_likely_named, tombstone

# ---- What a card names beside the post itself.


def made_whole(post: Post, seen: Mapping[int, Post], people: Mapping[int, User], hidden: AbstractSet[int]) -> Post:
    """A post with what it names, as far as the viewer sees it. `seen`: the posts that the viewer sees, by id; `people`:
    by uid, also those who are `hidden` from the viewer."""
    links = post.links
    answered = None if links.reply_to_user in hidden else people.get(links.reply_to_user or 0)
    quoted = _as_quoted(seen.get(links.quote) if links.quote else None, people)
    return post.within(Context(NOT_ACTED, None, (), answered, quoted, _names_of(links.mentions, people)))


def _as_quoted(post: Post | None, people: Mapping[int, User]) -> Post | None:
    """A post inside the post that quotes it; None for a repost, which nobody can quote."""
    if post is None or post.links.repost_of is not None:
        return None
    if post.links.mentions is None and post.context is NO_CONTEXT:
        return post
    return post.within(Context(mentioned=_names_of(post.links.mentions, people)))


def _names_of(mentions: tuple[int, ...] | None, people: Mapping[int, User]) -> frozenset[str] | None:
    if mentions is None:
        return None
    return frozenset(people[uid].username.lower() for uid in mentions if uid in people)


# ---- Post reader


class Needed(NamedTuple):
    """What a reader has read from the store for a page. The next visit most likely needs it again."""

    posts: tuple[int, ...] = ()  # the viewer's own, which are never cached, and others that are not cached now
    acted: tuple[int, ...] = ()  # posts of which the latest likes and reposts did not say all
    people: tuple[int, ...] = ()  # whom the posts name
    followed: tuple[int, ...] = ()  # of whom the latest follows did not say whether the viewer follows them


class Foreseen(NamedTuple):
    """What `Needed` says, read in the first round trip of a page."""

    stored: Mapping[int, Stored]  # the hashes of the posts, by id
    asked: frozenset[int]  # the posts of which all is known that the viewer has done
    acted: Mapping[int, Acted]  # by id, what that is
    people: Mapping[int, User]


NOTHING_FORESEEN = Foreseen({}, frozenset(), {}, {})


def ask_foreseen(pipe: Pipe, me: int | None, needed: Needed) -> Result[Foreseen]:
    """A command for each post, for each person who is not cached, and three for what the viewer has done."""
    posts, acted, people, _ = needed
    if not (posts or acted or people):
        return Result(lambda: NOTHING_FORESEEN)
    asked_posts, asked_people = ask_stored(pipe, posts), ask_people(pipe, people)
    asked_acted = visibility.ask_acted(pipe, me, acted) if acted and me is not None else Result(dict[int, Acted])
    return Result(lambda: Foreseen(asked_posts.value, frozenset(acted), asked_acted.value, asked_people.value))


def ask_stored(pipe: Pipe, pids: Sequence[int]) -> Result[dict[int, Stored]]:
    """By id, the hashes of posts. A command each."""
    asked = pipe.hgetall_each(keys.post.of_each(pids))
    return Result(lambda: dict(zip(pids, asked.value, strict=True)))


STEPS = 3  # a repost names its original, that names the post that it quotes, and that names its author


class PostReader:
    """Reads the posts of one page for one viewer. Every list of posts is read through it. No post comes twice."""

    def __init__(
        self,
        store: Store,
        viewer: Viewer,
        rules: Sequence[visibility.Rule] = (),
        acted: visibility.LatestActed = visibility.NOTHING_READ,
        page_of: User | None = None,
        at_most: int | None = None,
        foreseen: Foreseen = NOTHING_FORESEEN,
        about: Sequence[visibility.AboutPeople] = (),
    ) -> None:
        """`rules`: those of the page; `about`: what they must know about people. `acted`, and `page_of`, the person
        whose page it is: what this request has just read; it is not read again. `at_most`: no more posts are returned
        by all calls of `read` together. `foreseen`: what this request has read because the last visit needed it."""
        self._store = store
        self._rules = rules
        self._page_of = None if page_of is None else page_of.uid
        self._at_most = inf if at_most is None else at_most
        self._shown: set[int] = set()  # the posts that the page has by now
        self.acted = acted
        self.foreseen = foreseen
        self.fresh = viewer.just_changed  # posts that are read even when they are cached
        self.about_authors = viewer.about_authors  # asks for more about the authors of the posts
        self.people = {**foreseen.people}
        if page_of is not None:
            self.people |= keep_people([page_of])
        self.me: int | None = None  # None: a visitor
        if isinstance(user := viewer.user, User):
            self.me = user.uid
            self.people[user.uid] = user
        self.rules_of_viewer: Sequence[visibility.NotHidden] = ()
        about = [*about]
        if self.me is not None and acted.hidden is not visibility.NOBODY_HIDDEN:
            not_hidden = visibility.NotHidden(self.me, acted.hidden, self._page_of)
            self.rules_of_viewer = (not_hidden,)
            about.append(not_hidden.people)
        self.asking = [one for one in about if not one.are_all_known]
        self.needed = Needed()

    def read(self, pids: Sequence[int]) -> tuple[list[Post], list[int]]:
        """The posts and the dead ids of `reading`, whose round trips it makes."""
        pipe = self._store.pipeline()
        found = rest(pipe, self.reading(pipe, pids))
        return found.posts, found.dead

    def reading(self, pipe: Pipe, pids: Sequence[int]) -> Reading["Found"]:
        """The posts that the viewer sees, in the order of `pids`. The id of a repost stands for the post that it
        reposts.

        One round trip; for a visitor none while the posts are cached, unless a rule asks. At most STEPS more where this
        process does not know yet whom and what a post names: one when it does not know its author. One more for a user
        where staff has hidden a person whom a post names.
        """
        whole = dict[int, Post]()
        if not self.rules_of_viewer:  # what a card may name depends on whom the viewer hides
            foreseen = self.foreseen.stored
            whole = cached_whole([pid for pid in pids if pid not in foreseen], self.me, self.fresh)
        parts = _Parts(self, whole)
        yield from parts.read(pipe, [pid for pid in pids if pid not in whole], ())
        for _ in range(STEPS if parts.has_news else 0):  # of posts that are known, all that they name was asked for
            posts, people = parts.not_asked_for(pids)
            if not posts and not people:
                break
            yield from parts.read(pipe, posts, people)
        if parts.own or parts.unsure:
            self.needed = Needed((*self.needed.posts, *parts.own), (*self.needed.acted, *parts.unsure))
        made = parts.put_together()
        existing = seen = made | whole
        if made:
            hidden_by_staff = visibility.hidden_among(parts.people.values())  # no post is kept whole that names one
            unseen = yield from visibility.unseen_by(pipe, self.me, hidden_by_staff - self._opened(pids, made))
            seen = {pid: post for pid, post in seen.items() if post.author.uid not in unseen} if unseen else seen
            named = {uid: one for uid, one in parts.people.items() if uid not in unseen} if unseen else parts.people
        for rule in self.rules_of_viewer:
            seen = {post.pid: post for post in rule.visible([*seen.values()])}
        if made:
            rest_of_list = self._made_whole([pid for pid in pids if pid in seen and pid not in whole], seen, named)
            of_others = [post for post in rest_of_list.values() if post.author.uid != self.me]  # own are always read
            if of_others and not self.rules_of_viewer and not hidden_by_staff:
                keep_whole(of_others)
            seen |= rest_of_list
        listed = [seen[pid] for pid in pids if pid in seen]
        for rule_of_page in self._rules:
            listed = rule_of_page(listed)
        shown = self._for_page(listed, seen, parts.acted)
        return Found(pids, shown, parts.dead(pids), existing, parts)

    def ask_about(self, pipe: Pipe, people: set[int]) -> Result[dict[int, User]]:
        """Ask for people, and what the rules must know about them."""
        self.ask_rules(pipe, people)
        return ask_people(pipe, people - self.people.keys())

    def ask_rules(self, pipe: Pipe, people: set[int]) -> None:
        """Ask what the rules must know about people."""
        for one in self.asking:
            one.ask(pipe, people)

    def hidden(self) -> set[int]:
        """Those of the people asked about, here and by posts, whose posts the viewer does not see."""
        return set().union(*(rule.hidden() for rule in self.rules_of_viewer))

    def _opened(self, pids: Sequence[int], made: Mapping[int, Post]) -> set[int | None]:
        """Whose page the viewer has opened: that of a person, or of one post. The address of a repost leads to what it
        reposts."""
        if self.acted.hidden is visibility.MUTES_ASIDE and len(pids) == 1:
            reposted = {made[pid].links.repost_of for pid in pids if pid in made}
            return {post.author.uid for pid, post in made.items() if pid in reposted.union(pids)}
        return {self._page_of}

    def _made_whole(self, pids: Sequence[int], seen: Mapping[int, Post], people: Mapping[int, User]) -> dict[int, Post]:
        """These posts with what they name, and the originals of reposts among them."""
        posts = [seen[pid] for pid in pids]
        originals = [seen[of] for post in posts if (of := post.links.repost_of) is not None and of in seen]
        posts += originals
        hidden = self.hidden()
        return {post.pid: post if post.links is NO_LINKS else made_whole(post, seen, people, hidden) for post in posts}

    def _for_page(self, listed: Sequence[Post], seen: Mapping[int, Post], asked: dict[int, Acted]) -> list[Post]:
        """Each post once, in the place where it comes first. A repost stands for its original. `asked`: what the viewer
        has done with the posts that were asked for."""
        found: dict[int, tuple[Post, Post]] = {}
        room = self._at_most - len(self._shown)
        reposted_by: dict[int, dict[User, None]] = {}
        for entry in listed:
            post, pid, repost_of = entry, entry.pid, entry.links.repost_of
            if repost_of is not None:
                original = seen.get(repost_of)
                if original is None or original.links.repost_of is not None:
                    continue
                post, pid = original, original.pid
            if pid in self._shown or (pid not in found and len(found) == room):
                continue
            found.setdefault(pid, (post, entry))
            if repost_of is not None:
                reposted_by.setdefault(pid, {})[entry.author] = None
        self._shown.update(found)
        quoted = [post.context.quoted.pid for post, _ in found.values() if post.context.quoted is not None]
        acted = self.acted.on([*found, *quoted]) | asked  # what was asked for each post knows more
        shown = [
            post
            if pid not in acted and pid not in reposted_by
            else _in_list(post, entry, acted.get(pid, NOT_ACTED), reposted_by.get(pid, ()))
            for pid, (post, entry) in found.items()
        ]
        if not acted.keys().isdisjoint(quoted):
            shown = [_with_acted_on_quoted(post, acted) for post in shown]
        for rule in self.rules_of_viewer:
            shown = rule.folded(shown)
        return shown


def read_asked_for(store: Store, viewer: Viewer, pids: Iterable[int]) -> list[Post]:
    """Those of these posts that the viewer sees. The viewer has asked for them, so mutes hide none. Round trips as for
    `PostReader.reading`."""
    return PostReader(store, viewer, acted=visibility.NOTHING_READ_MUTES_ASIDE).read([*dict.fromkeys(pids)])[0]


def _in_list(post: Post, entry: Post, acted: Acted, reposted_by: Iterable[User]) -> Post:
    """A post with what the viewer has done, and with those who repost it. `entry`: what the list has of it, itself or a
    repost."""
    listed, when = (None, 0) if entry is post else (entry.pid, entry.time)
    return post.within(Context(acted, listed, tuple(reposted_by), *post.context[3:7], when))


def _with_acted_on_quoted(post: Post, acted: Mapping[int, Acted]) -> Post:
    quoted = post.context.quoted
    if quoted is None or quoted.pid not in acted:
        return post
    quoted = quoted._replace(context=quoted.context._replace(acted=acted[quoted.pid]))
    return post._replace(context=post.context._replace(quoted=quoted))


class Found(NamedTuple):
    """What a list of ids leads to."""

    pids: Sequence[int]
    posts: list[Post]  # what the viewer sees
    dead: list[int]  # ids of posts that do not exist
    existing: Mapping[int, Post]  # also those that the viewer does not see
    parts: "_Parts"

    def unavailable(self) -> list[Unavailable]:
        """The posts of the list that are not shown and that still say which posts they answer."""
        not_shown = {*self.pids} - {post.pid for post in self.posts}
        others = [(pid, post) for pid, post in self.existing.items() if pid in not_shown]
        hidden = [Unavailable(pid, post.links, None, post.is_counted) for pid, post in others]
        deleted = [tombstone(pid, fields_of(self.parts.stored[pid])) for pid in self.dead]
        return hidden + self.parts.without_author(self.pids) + [one for one in deleted if one is not None]


class _Parts:
    """What a page knows by now of its posts, and of the posts and people that they name."""

    def __init__(self, reader: PostReader, whole: dict[int, Post]) -> None:
        self._reader = reader
        self._whole = whole
        self._cached: dict[int, Post] = {}
        self.stored: dict[int, Stored] = {}  # of posts that are not cached
        self._records: dict[int, Record | None] = {}
        self._read_before: dict[int, Record] = {}  # posts that are not cached, as this process has read them last
        self.has_news = False  # whether one of the records is another than that
        self._uids: set[int] = set()  # the people that were asked for
        self.people = {**reader.people}
        self.acted: dict[int, Acted] = dict(reader.foreseen.acted)
        self.own: list[int] = []  # posts of the viewer that were read
        self.unsure: list[int] = []  # posts of which the latest likes and reposts did not say all

    def read(self, pipe: Pipe, pids: Iterable[int], people: Iterable[int]) -> Reading[None]:
        """Read posts and people, and those that the posts name, as far as this process knows them. One round trip."""
        reader, me = self._reader, self._reader.me
        posts, to_read, named = self._reached(pids)
        asked_posts = ask_stored(pipe, to_read) if to_read else None
        uids = named.union(people) - self._uids
        self._uids |= uids
        if reader.asking:
            known = {post.author.uid for post in self._whole.values()}
            known.update([post.links.reply_to_user or post.author.uid for post in self._whole.values()])
            reader.ask_rules(pipe, uids | known)
        unknown = uids - reader.people.keys()
        asked_people = ask_people(pipe, unknown) if unknown else None  # a warm page knows all
        if reader.about_authors is not None:
            authors = {post.author.uid for post in (*self._whole.values(), *self._quoted.values())}
            authors.update(filter(None, map(cached_author, [*posts, *self.stored])))
            reader.about_authors(pipe, authors)
        asked_acted = None if me is None or reader.acted.are_all else self._ask_acted(pipe, me, posts)
        yield
        if asked_posts is not None:
            new = self._note(asked_posts.value)
            self.has_news = self.has_news or any(map(is_not, new.values(), map(self._read_before.get, new)))
        if asked_people is not None:
            self.people |= asked_people.value
        if asked_acted is not None:
            self.acted |= asked_acted.value

    def _reached(self, pids: Iterable[int]) -> tuple[set[int], list[int], set[int]]:
        """These posts and those that they name, as far as this process knows which; those of them that must be read;
        and the people that they name. It takes what is cached and foreseen. No round trip."""
        me, fresh, foreseen = self._reader.me, self._reader.fresh, self._reader.foreseen.stored
        reached, to_read, people = set[int](), list[int](), set[int]()
        for _ in range(STEPS):
            known = self._cached.keys() | self.stored.keys() | reached
            new = [pid for pid in dict.fromkeys(pids) if pid not in known]
            if not new:
                break
            reached.update(new)
            read = self._note({pid: foreseen[pid] for pid in new if pid in foreseen}) if foreseen else {}
            left = [pid for pid in new if pid not in read]
            of_others = {pid: post for pid, post in cached(left).items() if post.author.uid != me and pid not in fresh}
            self._cached |= of_others
            unread = [pid for pid in left if pid not in of_others]
            to_read += unread
            read_before = cached_records(unread)
            self._read_before |= read_before
            facts = [(post.author.uid, post.links) for post in of_others.values()]
            facts += [(one.uid, one.links) for one in (*read.values(), *read_before.values()) if one is not None]
            pids = []  # of the posts that these name
            for author, links in facts:
                if links is NO_LINKS:
                    people.add(author)
                    continue
                people.update(people_of(author, links))
                pids += named_by(links)
            for pid in unread:
                if pid not in read_before:
                    posts, persons = most_likely_named(pid)
                    pids += posts
                    people.update(persons)
        return reached, to_read, people

    @cached_property
    def _quoted(self) -> dict[int, Post]:
        """What the posts that are cached whole quote."""
        return {one.pid: one for post in self._whole.values() if (one := post.context.quoted)}

    def _ask_acted(self, pipe: Pipe, me: int, others: Iterable[int]) -> Result[dict[int, Acted]] | None:
        """None when nothing must be asked. `others`: posts that are not cached whole."""
        latest, asked = self._reader.acted, self._reader.foreseen.asked
        known = self._whole | self._quoted
        unsure = latest.unknown({**known, **dict.fromkeys(others)}, {**self._cached, **known})
        self.unsure += unsure
        unknown = [pid for pid in unsure if pid not in asked] if asked else unsure
        return visibility.ask_acted(pipe, me, unknown) if unknown else None

    def _note(self, stored: Mapping[int, Stored]) -> dict[int, Record | None]:
        """The records of posts that were read."""
        found = records_of(stored)
        self.stored |= stored
        self._records |= found
        self.own += [pid for pid, one in found.items() if one is not None and one.uid == self._reader.me]
        return found

    def not_asked_for(self, pids: Sequence[int]) -> tuple[list[int], list[int]]:
        """The posts and the people that only the last round trip has named."""
        known = {pid: one.links for pid, one in (self._cached | self._records).items() if one is not None}
        named = [each for pid in pids if pid in known for each in named_by(known[pid])]
        originals = [known[pid].repost_of for pid in pids if pid in known]
        named += [each for pid in originals if pid in known for each in named_by(known[pid])]
        posts = [pid for pid in named if pid not in self._cached and pid not in self.stored]
        people = {uid for one in self._records.values() if one is not None for uid in people_of(one.uid, one.links)}
        return posts, list(people - self._uids)

    def put_together(self) -> dict[int, Post]:
        """By id, all posts, also those that others name, whose authors have an account."""
        people = self.people
        found: dict[int, Post] = {}
        if self._records:
            known = {pid: one for pid, one in self._records.items() if one is not None and one.uid in people}
            found = posts_of(known, people)
        for pid, post in self._cached.items():
            author = people.get(post.author.uid)
            if author is not None:
                # A post that has not changed stays the same object, so its card is known without comparing texts.
                found[pid] = post if author == post.author else post._replace(author=author)
        return found

    def without_author(self, pids: Sequence[int]) -> list[Unavailable]:
        """The posts of people whose account is deleted or suspended, among these."""
        known = self._cached | self._records
        found = [(pid, one) for pid in pids if (one := known.get(pid)) is not None]
        authors = {pid: one.author.uid if isinstance(one, Post) else one.uid for pid, one in found}
        gone = [(pid, one) for pid, one in found if authors[pid] not in self.people]
        return [Unavailable(pid, one.links, None, is_counted=one.counts.replies > 0) for pid, one in gone]

    def dead(self, pids: Sequence[int]) -> list[int]:
        """Those of these posts that do not exist."""
        records = self._records
        return [pid for pid in pids if pid in records and records[pid] is None] if records else []
