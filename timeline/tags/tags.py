"""Tags and their posts: the page of one tag, of those that a user follows, and what completes a tag or a name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.signing_in.viewer import Viewer
from accounts.users.checks import unknown
from retwis_site.exceptions import NotFound
from retwis_site.features import Line, SiteLines
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import AtWork, Check, Searcher, looking, names_alone, names_in, places, rows
from retwis_site.maintenance.lines import NAME
from retwis_site.store import keys
from retwis_site.store.cached_list import Slice
from retwis_site.store.chunks import AT_ONCE, Writes, remove_members
from retwis_site.store.client import Pipe, Repository, Result, Store, answer, answers, for_each, trip
from retwis_site.store.ids import integer, parse_id, stored_names
from retwis_site.store.kinds import unprefixed
from timeline.people.directory import People, after_prefix, search_query
from timeline.people.lists import ListedPerson
from timeline.posts.entities import PostsPage
from timeline.posts.links import LONGEST_TAG, folded, in_index, tags_in
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.visibility import LatestActed, Rule, ask_latest_acted
from timeline.posts.settling import tags_at_work
from timeline.relations.edges import Edges
from timeline.relations.home_tags import HOME_TAG, HOME_TAGS
from timeline.relations.relation import Edge, ask_among, ask_number, ask_stands
from timeline.relations.relations import TAG_FOLLOW
from timeline.relations.upkeep import restore
from timeline.timelines.pagination import POSTS_A_PAGE, READ_MORE, Part

# ---- Pages of tags.


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that some post had once."""

    folded: str  # in addresses and keys
    spelling: str  # as it was first used


@dataclass(frozen=True, slots=True)
class ViewersTag(Tag):
    """A tag, and what one viewer has chosen about it."""

    following: bool
    at_home: bool  # its posts stand in the viewer's home
    is_known: bool = True  # some post had it once, or the viewer follows it


@dataclass(frozen=True, slots=True)
class UsedTag:
    """A tag that completes what is typed."""

    tag: Tag
    posts: int


class NoSuchTag(NotFound):
    """No post ever had this tag."""

    message = _("No posts have this tag.")


# ---- Merges the newest posts of several tags into one list.


def merged(lists: Sequence[Slice], number: int, part: Part) -> Slice:
    """The `number` ids of all lists together that are looked at first. Each list must have its own first `number`, or
    all."""
    every = sorted({pid for each in lists for pid in each.ids}, reverse=not part.upwards)
    return Slice(every[:number], len(every) > number or any(each.has_more for each in lists))


# ---- What a follow of a tag must know before.


MOST_FOLLOWED = 100  # tags that a user may follow: so many sorted sets are read for a page


class ChosenTag(NamedTuple):
    tag: ViewersTag
    number: int  # of all tags that the user follows
    number_at_home: int  # of those in their home

    @property
    def may_be_followed(self) -> bool:
        return self.tag.following or self.number < MOST_FOLLOWED


def ask_viewers_tag(pipe: Pipe, me: int | None, folded: str) -> Result[ViewersTag]:
    """A tag, and what `me` has chosen about it; a visitor, None, has chosen nothing. Three commands."""
    spelling = pipe.hget(keys.tags(), folded)
    following, at_home = ask_stands(pipe, TAG_FOLLOW, me, folded), ask_stands(pipe, HOME_TAG, me, folded)

    def read() -> ViewersTag:
        is_known = spelling.value is not None or following.value
        return ViewersTag(folded, spelling.value or folded, following.value, at_home.value, is_known)

    return Result(read)


def ask_chosen_tag(pipe: Pipe, me: int, folded: str) -> Result[ChosenTag]:
    """A tag, and what decides about a choice of it. Five commands."""
    tag = ask_viewers_tag(pipe, me, folded)
    number, number_at_home = pipe.zcard(keys.tags_of(me)), pipe.zcard(keys.home_tags(me))
    return Result(lambda: ChosenTag(tag.value, number.value, number_at_home.value))


def chosen_tag(store: Store, me: int, folded: str) -> ChosenTag:
    """As `ask_chosen_tag`. One round trip. Raises NoSuchTag for one that is not known."""
    found = answer(store, ask_chosen_tag, me, folded)
    if not found.tag.is_known:
        raise NoSuchTag(folded)
    return found


def followed_tags(store: Store, viewer: Viewer) -> list[Tag]:
    """The tags that the viewer follows, the follow of last first. Two round trips, one without any. Raises
    NotSignedIn."""
    owner, [found] = viewer.ask_as_user(lambda pipe, me: trip(pipe.zrevrange(keys.tags_of(me), 0, MOST_FOLLOWED - 1)))
    folded = stored_names(keys.tags_of(owner.uid), found)
    spellings = store.hmget(keys.tags(), folded) if folded else []
    return [Tag(tag, spelling or tag) for tag, spelling in zip(folded, spellings, strict=True)]


# ---- Tag pages


READ = POSTS_A_PAGE + READ_MORE  # ids of one tag
READ_OF_EACH = 3 * POSTS_A_PAGE  # ids of each followed tag


class TagPages(Repository):
    """Pages of posts with tags. Only reads."""

    def page(self, viewer: Viewer, tag: str, before: int | None) -> tuple[ViewersTag, PostsPage]:
        """A folded tag, and its posts below the cursor, newest first. Raises NoSuchTag.

        One round trip while all posts are cached, else two; one more where posts of the page are hidden or deleted,
        and one while the author of a post is not cached."""
        part = Part(before)
        found, posts, acted = viewer.ask(
            lambda pipe, me: trip(
                ask_viewers_tag(pipe, me, tag), part.ask(pipe, keys.tag(tag), READ), ask_latest_acted(pipe, me)
            )
        )
        if not found.is_known:
            raise NoSuchTag(tag)
        return found, self._filled(viewer, part, posts, acted, CombinedTags([tag]))

    def part(self, viewer: Viewer, tags: "CombinedTags", rules: Sequence[Rule], part: Part) -> PostsPage:
        """A part of the posts with these folded tags; none for a tag that no post ever had. `rules`: as for
        `PostReader`. Round trips as for `page`, and at most two more where posts must have several tags, or lack
        some."""
        found, acted = viewer.ask(lambda pipe, me: trip(tags.ask_ids(pipe, part), ask_latest_acted(pipe, me)))
        return self._filled(viewer, part, found, acted, tags, rules)

    def of_followed(self, viewer: Viewer, before: int | None) -> tuple[list[ViewersTag], PostsPage]:
        """The tags that the viewer follows, the follow of last first, and their posts, newest first. Raises
        NotSignedIn.

        Two round trips while all posts are cached, else three; one without tags; more as for `page`. It does not matter
        how many tags are followed."""
        owner, (followed, at_home, acted) = viewer.ask_as_user(
            lambda pipe, me: trip(
                pipe.zrevrange(keys.tags_of(me), 0, MOST_FOLLOWED - 1),  # the follow of last first
                pipe.ask(HOME_TAGS, me),
                ask_latest_acted(pipe, me),
            )
        )
        folded = stored_names(keys.tags_of(owner.uid), followed)
        if not folded:
            return [], PostsPage([], None)
        with self._store.pipeline() as pipe:
            spellings, part = pipe.hmget(keys.tags(), folded), Part(before)
            posts = _ask_each(pipe, folded, part, READ_OF_EACH)
        tags = [
            ViewersTag(tag, spelling or tag, following=True, at_home=tag in at_home)
            for tag, spelling in zip(folded, spellings.value, strict=True)
        ]
        found = merged(posts.value, READ_OF_EACH, part)
        return tags, self._filled(viewer, part, found, acted, CombinedTags(folded))

    def _filled(
        self,
        viewer: Viewer,
        part: Part,
        found: Slice,
        acted: LatestActed,
        tags: "CombinedTags",
        rules: Sequence[Rule] = (),
    ) -> PostsPage:
        reader = PostReader(self._store, viewer, rules, acted=acted)
        filled = part.fill(found.ids, lambda pids: reader.read(tags.left_of(self._store, pids)))
        return part.page(filled, found.has_more)


def _ask_each(pipe: Pipe, tags: Sequence[str], part: Part, number: int) -> Result[list[Slice]]:
    """The posts with each tag of which a part may be, at most `number`. One command for each."""
    asked = [part.ask(pipe, keys.tag(tag), number) for tag in tags]
    return Result(lambda: [posts.value for posts in asked])


class CombinedTags(NamedTuple):
    """Which tags posts must have: one of `any_of`, each of `all_of`, and none of `none_of`. Folded."""

    any_of: Sequence[str]
    all_of: Sequence[str] = ()
    none_of: Sequence[str] = ()

    def ask_ids(self, pipe: Pipe, part: Part) -> Result[Slice]:
        """Posts among which a part is: those with one of `any_of`, or with that tag of `all_of` which fewest have had
        lately. One command for each tag."""
        any_of, all_of = (_ask_each(pipe, tags, part, READ) for tags in (self.any_of, self.all_of))

        def reaches_furthest(found: Slice) -> tuple[bool, int]:
            last = found.ids[-1] if found.ids else 0
            return not found.has_more, last if part.upwards else -last

        return Result(lambda: max([merged(any_of.value, READ, part), *all_of.value], key=reaches_furthest))

    def left_of(self, store: Store, pids: Sequence[int]) -> list[int]:
        """Those of these posts that fit. One round trip; none for `any_of` alone, when they have one of these."""
        if not pids or not (self.all_of or self.none_of):
            return [*pids]
        tags = dict.fromkeys([*self.any_of, *self.all_of, *self.none_of])
        having = answers(store, lambda pipe, tag: ask_among(pipe, keys.tag, tag, pids), tags)
        left = set[int]().union(*(having[tag] for tag in self.any_of))
        left.intersection_update(*(having[tag] for tag in self.all_of))
        left.difference_update(*(having[tag] for tag in self.none_of))
        return [pid for pid in pids if pid in left]


# ---- What completes a name or a tag while it is typed.


MOST_SHOWN = 8
TAGS_READ = 40  # tags of which the most used are shown


def people_named(store: Store, viewer: Viewer, typed: str) -> list[ListedPerson]:
    """At most MOST_SHOWN people whose username or display name begins with this text; first those that the viewer
    follows. Round trips as for `People.search`; none without a text."""
    query = search_query(typed)
    if not query:
        return []
    found = People(store).search(viewer, query).people
    return sorted(found, key=lambda one: not one.following)[:MOST_SHOWN]


def tags_named(store: Store, viewer: Viewer, typed: str) -> list[UsedTag]:
    """At most MOST_SHOWN tags that begin with this text and have posts, the most used first. Two round trips; one when
    nothing matches, none without a text."""
    if not _beginning(typed):
        return []
    [named] = viewer.ask(lambda pipe, me: trip(ask_named_tags(pipe, typed)))
    return answer(store, named.ask)


def _beginning(typed: str) -> str:
    return in_index(folded(typed[: LONGEST_TAG + 1]))


class NamedTags(NamedTuple):
    """Tags that begin with a text; some of them may have no posts."""

    typed: str
    names: list[str]  # folded, in the order of the index

    def ask(self, pipe: Pipe) -> Result[list[UsedTag]]:
        """At most MOST_SHOWN that have posts, the most used first. Three commands for each name, at most TAGS_READ."""
        asked = [(name, pipe.hget(keys.tags(), name), ask_number(pipe, keys.tag(name))) for name in self.names]

        def read() -> list[UsedTag]:
            used = [
                UsedTag(Tag(name, spelling.value or name), posts.value)
                for name, spelling, posts in asked
                if posts.value
            ]
            return sorted(used, key=lambda one: (one.tag.folded != folded(self.typed), -one.posts))[:MOST_SHOWN]

        return Result(read)


def ask_named_tags(pipe: Pipe, typed: str) -> Result[NamedTags]:
    """The tags that begin with a text, which is not empty. One command."""
    prefix = _beginning(typed)
    names = pipe.zrangebylex(keys.tags_by_name(), f"[{prefix}", after_prefix(prefix), TAGS_READ)
    return Result(lambda: NamedTags(typed, [folded(name) for name in names.value]))


# ---- Checks of tags: each has a spelling and can be found. `ListingChecks` compare their listings with the posts.


class TagChecks(Searcher):
    """Searches the tags, and what homes show of them. A repair relies on the checks of posts and of accounts, which run
    before."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "tags without a spelling",
                keys.tag,
                looking(self._store, _ask_unspelled),
                "{0} has no spelling",
                self._spell,
                read=names_alone,
                jobs=lambda key: {AtWork(tags_at_work, _tag_of(key))},
            ),
            self._check_of(
                "tags missing from tags_by_name",
                keys.tags,
                looking(self._store, _ask_unfound),
                "tags_by_name lacks {0!r}",
                lambda tag: self._store.zadd(keys.tags_by_name(), {in_index(tag): 0}),
                read=names_in,
                jobs=lambda tag: {AtWork(tags_at_work, tag)},
            ),
            self._check_of(
                "entries of tags_by_name that are no tag",
                keys.tags_by_name,
                looking(self._store, _ask_stray),
                "tags_by_name has {0!r}",
                jobs=lambda entry: {AtWork(tags_at_work, folded(entry))},
            ),
            self._check_of(
                "entries of home_tags: missing from homes_of_tag:, or of a tag that is not followed",
                keys.home_tags,
                looking(self._store, _ask_chosen_wrong),
                repair=self._mend_choice,
                read=rows,
            ),
            self._check_of(
                "entries of homes_of_tag: missing from home_tags:, or unknown",
                keys.homes_of_tag,
                looking(self._store, _ask_pushed_wrong),
                "{0} has {1}",
                self._mend_home,
                read=places,
                jobs=lambda key, uid: keys.homes_of_tag.explained_by(_tag_of(key), uid),
            ),
        ]

    def orphans(self) -> list[Check]:
        """The completion reads only TAGS_READ names: those without posts would hide the others."""
        return [
            self._check_of(
                "entries of tags_by_name whose tag has no posts",
                keys.tags_by_name,
                looking(self._store, _ask_unused),
                "tags_by_name has {0!r}",
                repair_all=self._forget_names,
                jobs=lambda entry: {AtWork(tags_at_work, folded(entry))},
            )
        ]

    def _forget_names(self, entries: Sequence[str]) -> None:
        """Remove entries; those of tags that a post has got meanwhile, or is getting, come back. The job of a post is
        in the outbox until its tags are listed."""
        remove_members(self._store, keys.tags_by_name(), entries)
        coming = tags_at_work(self._store, Outbox(self._store).under_way())
        used = answers(self._store, lambda pipe, entry: pipe.zcard(keys.tag(folded(entry))), entries)
        back = [entry for entry in entries if used[entry] or folded(entry) in coming]
        for_each(self._store, lambda pipe, entry: pipe.zadd(keys.tags_by_name(), {entry: 0}), back)

    def _mend_choice(self, uid: int, tag: str, *_: object) -> None:
        Edges(self._store, HOME_TAG).mend([Edge(uid, tag)])

    def _mend_home(self, key: str, member: str) -> None:
        uid = parse_id(member)
        if uid is None or unknown(self._store, [uid]):
            self._store.zrem(key, member)
        else:
            tag = _tag_of(key)
            restore(self._store, [((keys.home_tags(uid), tag), (key, member))])
            self._mend_choice(uid, tag)

    def _spell(self, key: str) -> None:
        """The spelling of the oldest post with the tag."""
        tag = _tag_of(key)
        first = [pid for member in self._store.zrange(key, 0, 0) if (pid := parse_id(member))]
        bodies = [self._store.hget(keys.post(pid), "body") for pid in first]
        spellings = [tags_in(body).get(tag, tag) for body in bodies if body]
        self._store.hsetnx(keys.tags(), tag, (spellings or [tag])[0])


def _tag_of(key: str) -> str:
    """The tag in the name of a key of each tag."""
    return unprefixed(key).partition(":")[2]


def _ask_chosen_wrong(pipe: Pipe, choice: tuple[int, str, float]) -> Result[bool]:
    """Whether a choice has no mirror, another date there, or its tag is not followed."""
    uid, tag, _ = choice
    here, there = pipe.zscore(keys.home_tags(uid), tag), pipe.zscore(keys.homes_of_tag(tag), str(uid))
    follows = ask_stands(pipe, TAG_FOLLOW, uid, tag)

    def read() -> bool:
        if here.value is None:
            return False
        return there.value is None or integer(here.value) != integer(there.value) or not follows.value

    return Result(read)


def _ask_pushed_wrong(pipe: Pipe, entry: tuple[str, str]) -> Result[bool]:
    """Whether posts with a tag are pushed into a home whose owner has not chosen it, or does not exist."""
    key, member = entry
    uid = parse_id(member) or 0
    here, there = pipe.zscore(key, member), pipe.zscore(keys.home_tags(uid), _tag_of(key))
    name = pipe.hexists(keys.user(uid), "username")
    return Result(lambda: here.value is not None and (there.value is None or not name.value))


def _ask_unspelled(pipe: Pipe, key: str) -> Result[bool]:
    """Whether a tag has posts, but no spelling. Posts are listed in the round trip that writes it."""
    spelled, posts = pipe.hexists(keys.tags(), _tag_of(key)), pipe.zcard(key)
    return Result(lambda: posts.value > 0 and not spelled.value)


def _ask_unfound(pipe: Pipe, tag: str) -> Result[bool]:
    """Whether no beginning finds a tag with posts, or it has a wrong score: the index is in the order of its bytes only
    while all scores are equal."""
    score, posts = pipe.zscore(keys.tags_by_name(), in_index(tag)), pipe.zcard(keys.tag(tag))
    return Result(lambda: score.value != 0 and (score.value is not None or posts.value > 0))


def _ask_unused(pipe: Pipe, entry: str) -> Result[bool]:
    """Whether an entry of the index is there, and no post has its tag."""
    score, posts = pipe.zscore(keys.tags_by_name(), entry), pipe.zcard(keys.tag(folded(entry)))
    return Result(lambda: score.value is not None and not posts.value)


def _ask_stray(pipe: Pipe, member: str) -> Result[bool]:
    """Whether an entry of the index has no spelling. The check before has given one to each tag with posts."""
    tag = folded(member)
    known = pipe.hexists(keys.tags(), tag)
    return Result(lambda: not known.value or in_index(tag) != member)


# ---- The file of a whole site. Posts alone do not say how a tag was first spelled: they come by author, and others of
# its posts are gone.


def _read_spellings(store: Store) -> Iterator[Line]:
    """A line for each tag, in the order in which beginnings find them: names may be more than memory has room for. Two
    round trips for AT_ONCE tags."""
    for members in store.zset_ranks(keys.tags_by_name(), AT_ONCE):
        tags = [folded(member) for member in members]
        spellings = zip(tags, store.hmget(keys.tags(), tags) if tags else [], strict=True)
        yield from ({"tag": tag, "spelling": spelling} for tag, spelling in spellings if tag and spelling)


def _write_spellings(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.hset(keys.tags(), {line["tag"]: line["spelling"]})
        writes.zadd(keys.tags_by_name(), {in_index(line["tag"]): 0})


SPELLINGS = SiteLines("tag", lambda line: {"tag": NAME, "spelling": NAME}, _read_spellings, _write_spellings)
