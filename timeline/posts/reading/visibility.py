"""Which posts a viewer sees, by rules that `PostReader` applies to every list of posts; and what they did with them.

Before the rules, the reader leaves out deleted posts and posts of deleted accounts. What depends on the viewer is a
rule of every page (`NotHidden`); it hides a post also where another post reposts or quotes it. What depends on the page
is a rule of that page: it decides about the entries of the list. A repost is an entry by the person who reposts.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache, partial
from math import inf
from operator import attrgetter
from typing import NamedTuple, Protocol

from accounts.users.entities import State, User
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Reply, Result, Store, trip
from retwis_site.store.commands import AboutUser, Question, scored
from retwis_site.store.ids import parse_id
from timeline.language import joined, phrase, words
from timeline.posts.entities import Acted, Media, Post
from timeline.posts.links import tags_in
from timeline.relations.muted_words import MUTED_WORDS, How, MutedWord, Where
from timeline.relations.relation import ask_among, stands_above
from timeline.relations.relations import ACTED_ON, FollowedPeople, ask_followed

# ---- Which texts have words that a viewer mutes.


CACHED_VIEWERS = 200  # with muted words; at most 50 KB each


class MutedTexts(NamedTuple):
    """What hides and folds posts of one viewer."""

    hiding: Sequence[tuple[str, str]] = ()  # the words as a text has them, and as typed
    folding: Sequence[tuple[str, str]] = ()
    besides: int | None = None  # the id of a post that is shown whatever it says: the viewer has asked for it

    def hide(self, body: str, media: Media) -> bool:
        return bool(self.hiding) and _first(self.hiding, body, media) is not None

    def folded_for(self, post: Post) -> str | None:
        """The words, as typed, for which a post is folded; None for most."""
        return _first(self.folding, post.body, post.media) if self.folding else None


NO_WORDS = MutedTexts()


def muted_texts(muted: Iterable[MutedWord], where: Where) -> MutedTexts:
    """What the words mute on a page: HOME for the viewer's home, EVERYWHERE for any other."""
    here = tuple((one.how, one.words) for one in muted if one.where in (where, Where.EVERYWHERE))
    return _muted_texts(here) if here else NO_WORDS


@lru_cache(CACHED_VIEWERS)
def _muted_texts(here: Sequence[tuple[How, str]]) -> MutedTexts:
    hiding, folding = (
        tuple((phrase(words(typed)), typed) for how, typed in here if how is wanted) for wanted in (How.HIDE, How.FOLD)
    )
    return MutedTexts(hiding, folding)


def _first(muted: Sequence[tuple[str, str]], body: str, media: Media) -> str | None:
    """No phrase is found across two texts: two BETWEEN stand there."""
    said = _words_of(body)
    if media.pictures:  # screen readers read their descriptions, and apps show them
        said += "".join(_words_of(one.alt) for one in media.pictures)
    return next((typed for wanted, typed in muted if wanted in said), None)


@lru_cache(maxsize=5000)  # some 1 KB each, so all have 5 MB
def _words_of(text: str) -> str:
    """The words of a text, as phrases are looked for."""
    return joined(words(text))


# ---- Whom and what a viewer does not see: people whom they block or mute, people who block them, and muted words.


LATEST = 50  # entries of each kind that `LatestHidden` and `LatestActed` have at most
KINDS = (keys.blocked, keys.blocked_by, keys.muted, keys.muted_reposts)


class LatestHidden(NamedTuple):
    """The muted words, and the people of each of the KINDS that stand first there. A page can ask it before it knows
    whose posts it has, and for nearly all users it is all that the page must know."""

    people: tuple[frozenset[int], ...]  # uids, of each kind; a mute that has ended is not among them
    are_all: tuple[bool, ...]  # of each kind, whether there are no others
    words: MutedTexts = NO_WORDS

    @property
    def blocked_or_muted(self) -> frozenset[int]:
        """Those whom lists leave out."""
        blocked, blocked_by, muted, _ = self.people
        return blocked | blocked_by | muted


NO_HIDDEN_READ = LatestHidden((frozenset(),) * len(KINDS), (False,) * len(KINDS))
# For a page on which a viewer has asked for a certain post: blocks hide it, mutes and staff do not.
MUTES_ASIDE = LatestHidden((frozenset(),) * len(KINDS), (False, False, True, True))
NOBODY_HIDDEN = LatestHidden((frozenset(),) * len(KINDS), (True,) * len(KINDS))


# Of each of the KINDS, and the muted words. `latest_hidden` reads the replies.
LATEST_HIDDEN: tuple[AboutUser, ...] = (
    *(("ZREVRANGE", key, 0, LATEST - 1, "WITHSCORES") for key in KINDS),
    *MUTED_WORDS.commands,
)


def latest_hidden(me: int, replies: Sequence[list[str]], where: Where) -> LatestHidden:
    """What the replies to LATEST_HIDDEN say. `where`: as for `muted_texts`."""
    if not any(replies):
        return NOBODY_HIDDEN
    *kinds, words = replies
    rows = [*map(scored, kinds)]
    muted = muted_texts(MUTED_WORDS.read(me, [words]), where)
    if not any(rows) and muted is NO_WORDS:
        return NOBODY_HIDDEN
    people = (
        frozenset(uid for member, score in some if score > stands_above(key) and (uid := parse_id(member)))
        for key, some in zip(KINDS, rows, strict=True)
    )
    return LatestHidden(tuple(people), tuple(len(some) < LATEST for some in rows), muted)


class HiddenPeople:
    """All people whom one viewer does not see, as far as they are asked about."""

    def __init__(self, me: int, latest: LatestHidden) -> None:
        """`latest`: what this request has read. It asks about others only where a user hides more than these."""
        self._me = me
        self._latest = latest
        self.are_all_known = all(latest.are_all)
        self._asked = {me}
        self._answers: list[list[Result[set[int]]]] = [[] for _ in KINDS]

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """At most four commands; none for most users."""
        unknown = [*(people - self._asked)]
        self._asked |= people
        for answers, key, are_all in zip(self._answers, KINDS, self._latest.are_all, strict=True):
            if unknown and not are_all:
                answers.append(ask_among(pipe, key, self._me, unknown))

    def read(self) -> tuple[set[int], set[int], set[int]]:
        """The people with a block either way, those that are muted, and those whose reposts are."""
        if self._latest is NOBODY_HIDDEN:
            return set(), set(), set()
        blocked, by, muted, reposts = (
            set(latest).union(*(answer.value for answer in answers))
            for latest, answers in zip(self._latest.people, self._answers, strict=True)
        )
        return blocked | by, muted, reposts


# ---- People whom staff has hidden: their followers see them, and everyone on their own pages. No one else does.


def hidden_among(people: Iterable[User]) -> set[int]:
    """The uids of those of these people whom staff has hidden."""
    return {person.uid for person in people if person.state is State.HIDDEN}


def unseen_by(pipe: Pipe, me: int | None, hidden: set[int]) -> Reading[set[int]]:
    """Those of these hidden people whom the viewer `me` (None: a visitor) does not see. One round trip; none without
    hidden people, and for a visitor."""
    others = hidden - {me}
    if not others or me is None:
        return others
    [followed] = yield from trip(ask_followed(pipe, me, others))
    return others - followed


def seen_by_all(store: Store, people: Collection[int]) -> set[int]:
    """The uids of those of these people whom a visitor sees: without unknown, deleted, suspended and hidden ones. At
    most one round trip, of a command for each who is not cached."""
    found = Users(store).people(people)
    return found.keys() - hidden_among(found.values())


# ---- Visibility


# The posts that the viewer sees, in the same order, from posts of which all is known that the rule must know.
Rule = Callable[[list[Post]], list[Post]]


class AboutPeople(Protocol):
    """What the rules of one page must know about people. It remembers what was asked while the page is read."""

    are_all_known: bool  # whether this request has read all of it before

    def ask(self, pipe: Pipe, people: set[int]) -> None:
        """Ask about these people, unless it is known already. At most one command, four for `HiddenPeople`."""


class NotHidden:
    """Neither posts of people whom the viewer blocks or who block the viewer, nor of those whom the viewer mutes, nor
    reposts by those whose reposts the viewer mutes, nor others' posts with words that the viewer mutes. On the page of
    one person, a mute of them hides nothing: the viewer has opened it to see them."""

    def __init__(self, me: int, latest: LatestHidden, page_of: int | None) -> None:
        """`latest`: what this request has read; `page_of`: the person whose page it is, if any."""
        self._me = me
        self.people = HiddenPeople(me, latest)
        self._words = latest.words
        self._page_of = page_of

    def visible(self, posts: list[Post]) -> list[Post]:
        hidden, no_reposts = self._read()
        if hidden or no_reposts:
            posts = [
                post
                for post in posts
                if post.author.uid not in hidden and (post.links.repost_of is None or post.author.uid not in no_reposts)
            ]
        if self._words.hiding:
            posts = [post for post in posts if self._is_exempt(post) or not self._words.hide(post.body, post.media)]
        return posts

    def folded(self, posts: list[Post]) -> list[Post]:
        """The same posts. Those that have muted words, or quote a post that has, say which ones."""
        return [self._folded(post) for post in posts] if self._words.folding else posts

    def _folded(self, post: Post) -> Post:
        if self._is_exempt(post):
            return post
        quoted = post.context.quoted
        muted = self._words.folded_for(post)
        if muted is None and quoted is not None and not self._is_exempt(quoted):
            muted = self._words.folded_for(quoted)
        return post if muted is None else post.within(post.context._replace(muted=muted))

    def _is_exempt(self, post: Post) -> bool:
        """Whether no words are muted in a post."""
        return post.author.uid == self._me or post.pid == self._words.besides

    def hidden(self) -> set[int]:
        """Those of the people asked about whose posts are hidden. A card does not name them either."""
        return self._read()[0]

    def _read(self) -> tuple[set[int], set[int]]:
        """Whose posts are hidden, and whose reposts."""
        blocked, muted, reposts_muted = self.people.read()
        return blocked | (muted - {self._page_of}), reposts_muted - {self._page_of}


@lru_cache(maxsize=5000)  # some 400 bytes each, so all have 2 MB
def _tags_of(text: str) -> frozenset[str]:
    """The folded tags of a text."""
    return frozenset(tags_in(text))


def posts_of_followed(me: int, followed: FollowedPeople, tags: frozenset[str]) -> Rule:
    """The viewer's own posts, those of the people that the viewer follows, and what others wrote with a tag that the
    viewer has chosen for home. Of the replies to others, only those to the viewer and to people that the viewer
    follows. `followed` was asked about the authors and whom they answer; `tags`: the chosen ones."""

    def has_tag(post: Post) -> bool:
        """Whether it has one of the chosen tags. A repost has no text."""
        return bool(tags) and not tags.isdisjoint(_tags_of(post.body))

    def visible(posts: list[Post]) -> list[Post]:
        authors = [post.author.uid for post in posts]
        answered = [post.links.reply_to_user for post in posts]
        people = {*authors, *filter(None, answered)}
        read = {None, me, *followed.among(people)}
        if people <= read:
            return posts
        return [
            post
            for post, author, to in zip(posts, authors, answered, strict=True)
            if {author, to} <= read or ((to in read or to == author) and author not in read and has_tag(post))
        ]

    return visible


_author_and_answered = attrgetter("author.uid", "links.reply_to_user")


def posts_to_everyone(author: int, shown_anyway: int | None) -> Rule:
    """What one user wrote to everyone: no replies to others. A thread of one's own is written to everyone. A foreign
    database may list other users' posts as theirs. `shown_anyway`: the id of the pinned post."""
    to_everyone = {(author, None), (author, author)}

    def visible(posts: list[Post]) -> list[Post]:
        if to_everyone.issuperset(map(_author_and_answered, posts)):  # as on most profiles
            return posts
        return [
            post
            for post in posts
            if _author_and_answered(post) in to_everyone or (post.pid == shown_anyway and post.author.uid == author)
        ]

    return visible


def posts_by(author: int) -> Rule:
    """The posts of one user, as `posts_to_everyone`, and their replies to others."""
    return lambda posts: [post for post in posts if post.author.uid == author]


def with_pictures(posts: list[Post]) -> list[Post]:
    """A `Rule`: only posts with pictures, as their authors wrote them."""
    return [post for post in posts if post.media.pictures and post.links.repost_of is None]


def no_reposts(posts: list[Post]) -> list[Post]:
    """A `Rule`: only what people wrote. Everyone's timeline has each post once already."""
    return [post for post in posts if post.links.repost_of is None]


# ---- What a viewer has done with the posts of a page: liked, reposted, bookmarked; and whom the viewer hides.


CLOCKS_DIFFER = 60  # seconds; the clocks of two servers never differ by so much


def ask_acted(pipe: Pipe, me: int, pids: Sequence[int]) -> Result[dict[int, Acted]]:
    """By id, what `me` has done with those of these posts (at least one) on which they have acted. Three commands."""
    texts = [*map(str, pids)]
    asked = [pipe.among(relation.truth(me), texts) for relation in ACTED_ON]
    return Result(lambda: _acted(*[{*found.value} for found in asked]))


def _acted(liked: AbstractSet[str], reposted: AbstractSet[str], bookmarked: AbstractSet[str]) -> dict[int, Acted]:
    """By id, what a viewer has done with all posts in these sets, which hold ids as text."""
    return {
        int(pid): Acted(pid in liked, pid in reposted, pid in bookmarked) for pid in {*liked, *reposted, *bookmarked}
    }


class LatestActed(NamedTuple):
    """What the viewer has liked, reposted and bookmarked last.

    A page can ask it before it knows which posts it has. Nobody acts on a post before it is published, so for most
    pages it is all that the page must know."""

    liked: frozenset[str]  # ids as text
    reposted: frozenset[str]
    bookmarked: frozenset[str]
    since: float  # unix seconds: all that the viewer has liked and bookmarked later is known
    since_id: float  # reposts with higher ids are all known
    hidden: LatestHidden  # whom the viewer has blocked and muted last, and muted words

    @property
    def are_all(self) -> bool:
        """The viewer has acted on nothing else."""
        return self.since == self.since_id == -inf

    def unknown(self, pids: Iterable[int], posts: Mapping[int, Post]) -> list[int]:
        """The ids of these posts of which not all is known. `posts`: those of which this process knows the time."""
        since, since_id = self.since + CLOCKS_DIFFER, self.since_id
        return [pid for pid in pids if pid <= since_id or pid not in posts or posts[pid].time <= since]

    def asking_for(self, pid: int) -> "LatestActed":
        """The same for the page of a post: the viewer has asked for it, so no muted words hide it there."""
        words = self.hidden.words
        if words is NO_WORDS:
            return self
        return self._replace(hidden=self.hidden._replace(words=words._replace(besides=pid)))

    def on(self, pids: Iterable[int]) -> dict[int, Acted]:
        """By id, what the viewer has done with those of these posts on which they have acted."""
        asked = {*map(str, pids)}
        return _acted(self.liked & asked, self.reposted & asked, self.bookmarked & asked)


NOTHING_READ = LatestActed(frozenset(), frozenset(), frozenset(), inf, inf, NO_HIDDEN_READ)
NOTHING_READ_MUTES_ASIDE = NOTHING_READ._replace(hidden=MUTES_ASIDE)


def _latest_acted(where: Where, me: int, replies: Sequence[list[str]]) -> LatestActed:
    """`where`: as for `muted_texts`."""
    rows, hidden = replies[: len(ACTED_ON)], replies[len(ACTED_ON) :]
    oldest_like, oldest_repost, oldest_bookmark = [float(row[-1]) if len(row) >= 2 * LATEST else -inf for row in rows]
    liked, reposted, bookmarked = [frozenset(row[::2]) for row in rows]
    since = max(oldest_like, oldest_bookmark)
    return LatestActed(liked, reposted, bookmarked, since, oldest_repost, latest_hidden(me, hidden, where))


# One for each place where muted words count (`muted_texts`). Eight commands.
LATEST_ACTED = {
    where: Question(
        *(("ZREVRANGE", relation.truth, 0, LATEST - 1, "WITHSCORES") for relation in ACTED_ON),
        *LATEST_HIDDEN,
        read=partial(_latest_acted, where),
    )
    for where in Where
}


def ask_latest_acted(pipe: Pipe, me: int | None) -> Reply[LatestActed] | Result[LatestActed]:
    """For pages other than home. Eight commands; none for a visitor, None."""
    return Result(lambda: NOTHING_READ) if me is None else pipe.ask(LATEST_ACTED[Where.EVERYWHERE], me)


# Whom and what the viewer hides, for a page that asks what the viewer has done with each of its posts. Five commands.
HIDDEN = Question(
    *LATEST_HIDDEN,
    read=lambda me, replies: NOTHING_READ._replace(hidden=latest_hidden(me, replies, Where.EVERYWHERE)),
)
