"""Brings back a person's posts with their dates, on a site in use.

A post is there when it is in `updates:` of its author. The steps for a chunk of posts, of which each can run twice:
jobs `restore:<pid>:...` in the outbox, the claim of each id (HSETNX `user_id`), the hashes, one ZADD to `updates:` (the
commit), the threads, quotes and tags in which the posts stand, and the jobs are removed. Homes and the global timeline
are dropped at the end. A job `lists:<uid>:...` covers that: each chunk adds its own before it commits, and then removes
that of the chunk before. `cleanup` leaves a hash alone while its job is in the outbox.

One run at a time restores an account (`only_run`): a second one would not see what the first one still writes, and take
its jobs for those of a killed run.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from math import inf
from typing import NamedTuple
from urllib.parse import unquote

from django.conf import settings

from accounts.media.decoding import PictureRefused, Shape
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import ANIMATED, Mark, Pictures
from accounts.users.names import in_one_line
from accounts.users.repository import Users, ask_owners
from retwis_site.exceptions import NotDone
from retwis_site.features import Line
from retwis_site.http.url_converters import UsernameConverter
from retwis_site.jobs.outbox import LEASE, OWNER_GIVES_UP, READ_AT_ONCE, Claim, LongLease, Outbox, job_id, owned
from retwis_site.maintenance.lines import seconds
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first, remove_members
from retwis_site.store.client import Store, answer, answers, for_each
from retwis_site.store.ids import NOT_UTF_8, is_digest, nonce, parse_id, stored_ids
from retwis_site.store.kinds import POST, USER
from retwis_site.store.snowflake import SMALLEST, made_at
from timeline.posts.composer import alt_of, cleaned
from timeline.posts.delivery import Delivery
from timeline.posts.entities import NO_COUNTS, NO_LINKS, NO_MEDIA, Links, Media, NoSuchPost, Picture, PostDeleted
from timeline.posts.links import names_in, tags_in
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.records import Record, Version, stored_as
from timeline.posts.repository import Posts, links_of_reply
from timeline.posts.settling import Settling, leave_to_the_index, mark_deleted
from timeline.relations.edges import Edges
from timeline.relations.home_tags import HOME_TAG, MOST_AT_HOME
from timeline.relations.muted_words import MOST_MUTED, parse
from timeline.relations.relation import Edge, Relation, ask_among, to_person
from timeline.relations.relations import FOLLOW, MUTE_WORDS, REPOST, TAG_FOLLOW, relations
from timeline.timelines.profile import Pins

# ---- The posts that a download names, found on this site.
#
# An id alone proves nothing: on another site, another post may have it. So a post is taken for the named one when its
# author has the same name, and when it is older than what names it. A post of the owner is known by the import itself.


ADDRESS = re.compile(r"/@([^/]+)/(\d+)/$")


class NamedPost(NamedTuple):
    """A post as a download names it."""

    pid: int
    author: str = ""  # the username in its address, in lower case; empty without an address


class OldPost(NamedTuple):
    """A post as the download has it."""

    pid: int
    time: int  # unix seconds
    body: str
    reply_to: NamedPost | None = None
    quote: NamedPost | None = None
    texts: tuple[Version, ...] = ()  # of an edited post; the newest last
    language: str = ""  # a code
    media: Media = NO_MEDIA  # named as in the file, until they are brought back


class LocalPost(NamedTuple):
    """A post of this site."""

    pid: int
    uid: int
    author: str  # the username, in lower case
    time: int  # unix seconds
    links: Links


def named(pid: int, address: str) -> NamedPost:
    """The post with this id; `address`: of its page, which has the name of its author."""
    found = ADDRESS.search(unquote(address))
    return NamedPost(pid, UsernameConverter().to_python(found[1]).lower() if found and found[2] == str(pid) else "")


def find(store: Store, uid: int, pids: Collection[int]) -> dict[int, LocalPost]:
    """The posts with these ids that somebody can read; none of people who block user `uid`, to whom the site refuses
    all that is to be brought back. Four round trips; none without ids."""
    posts = Posts(store).published(pids)
    authors = {post.uid for post in posts}
    people = Users(store).people(authors - answer(store, ask_among, keys.blocked_by, uid, authors))
    return {
        post.pid: LocalPost(post.pid, post.uid, people[post.uid].username.lower(), post.time, post.links)
        for post in posts
        if post.uid in people
    }


def is_same(target: LocalPost, named_post: NamedPost, when: int) -> bool:
    """Whether a post of this site is the one that a download names. `when`: of what names it, in unix seconds."""
    return target.author == named_post.author and target.time <= when


class RestoredConversation:
    """The links of posts that are brought back. `find` the posts that a chunk names, then ask for its `links`."""

    def __init__(self, store: Store, uid: int) -> None:
        self._store = store
        self._uid = uid
        self.own: dict[int, int] = {}  # ids on this site of the owner's posts, by their ids in the download
        self._found: dict[int, LocalPost] = {}  # by ids on this site
        self.owners: dict[str, int] = {}  # uids by the names that texts mention
        self.plain_replies = 0
        self.plain_quotes = 0

    def find(self, posts: Sequence[OldPost]) -> None:
        """Find what these posts name. At most five round trips."""
        pids = {self.own.get(one.pid, one.pid) for post in posts for one in (post.reply_to, post.quote) if one}
        self._found = find(self._store, self._uid, pids)
        names = dict.fromkeys(name for post in posts for name in names_in(post.body))
        self.owners = answer(self._store, ask_owners, [*names])

    def links(self, pid: int, post: OldPost) -> Links:
        """The links of a post that gets this id. The posts before it were asked for already."""
        parent, quoted = self._target(post.reply_to, post.time), self._target(post.quote, post.time)
        self.plain_replies += post.reply_to is not None and parent is None
        self.plain_quotes += post.quote is not None and quoted is None
        names = names_in(post.body)
        mentions = dict.fromkeys(self.owners[name] for name in names if name in self.owners)
        links = NO_LINKS if parent is None else links_of_reply(parent.pid, parent.uid, parent.links)
        links = links._replace(quote=quoted.pid if quoted else None, mentions=tuple(mentions) if names else None)
        self._found[pid] = LocalPost(pid, self._uid, "", post.time, links)
        return links

    def _target(self, one: NamedPost | None, when: int) -> LocalPost | None:
        if one is None:
            return None
        if one.pid in self.own:
            return self._found.get(self.own[one.pid])
        target = self._found.get(one.pid)
        return target if target is not None and is_same(target, one, when) else None


# ---- Brings back whom and what a person blocks and mutes, the tags that they follow, what they like and have saved.


def restored() -> list[Relation]:
    """The relations that are brought back. Follows are asked for again; a repost is a post of its own; the ids of
    threads are others here; of texts it must be known which are good."""
    to_people_and_posts = [one for one in relations() if one.leads_to in (USER, POST)]
    return [one for one in (*to_people_and_posts, MUTE_WORDS, TAG_FOLLOW, HOME_TAG) if one not in {FOLLOW, REPOST}]


FoundEdges = list[Edge | None]  # for each line; None: it leads to what is not here


class RestoredRelations:
    """Adds edges to an account, each with its date. One that stands already stays as it is. 500 take a fixed number of
    round trips. All raise StoreError when the store was too slow."""

    def __init__(self, store: Store, uid: int) -> None:
        self._store = store
        self._uid = uid

    def to_people(self, lines: Mapping[str, Sequence[Line]]) -> int:
        """Blocks and mutes of the people who have such a username here. Returns how many names no user has."""
        return sum(self._add(one, lines[one.kind], self._people) for one in restored() if one.leads_to == USER)

    def to_words(self, lines: Mapping[str, Sequence[Line]]) -> None:
        """Muted words, in one line as the form has them: a browser sends back no other, so nobody could unmute it. Of
        those that may be muted, the first MOST_MUTED."""
        typed = [{**line, "words": in_one_line(line["words"])} for line in lines[MUTE_WORDS.kind]]
        good = [line for line in typed if parse(line["words"]) is not None]
        self._add(MUTE_WORDS, good[:MOST_MUTED], lambda some: [Edge(self._uid, line["words"]) for line in some])

    def to_tags(self, lines: Mapping[str, Sequence[Line]]) -> int:
        """Follows of the tags that somebody has used here, and which of them stand in home. Returns the number of the
        others."""
        missing = self._add(TAG_FOLLOW, lines[TAG_FOLLOW.kind], self._tags)
        self._add(HOME_TAG, lines[HOME_TAG.kind][:MOST_AT_HOME], self._tags)
        return missing

    def to_posts(self, lines: Mapping[str, Sequence[Line]], conversation: RestoredConversation) -> int:
        """Likes and the like of the posts that this site has. Returns the number of the others."""
        find = partial(self._posts, conversation)
        return sum(self._add(one, lines[one.kind], find) for one in restored() if one.leads_to == POST)

    def pin(self, pid: int | None) -> None:
        """Pin a post of the owner, unless one is pinned, or it was deleted meanwhile. Three round trips; none without a
        post."""
        if pid is not None and self._store.hget(keys.user(self._uid), "pinned") is None:
            with suppress(NoSuchPost, PostDeleted):
                Pins(self._store).pin(self._uid, pid)

    def _add(self, relation: Relation, lines: Sequence[Line], find: Callable[[Sequence[Line]], FoundEdges]) -> int:
        """Returns how many lines lead to what is not here. Mutes that have ended are left out."""
        missing = 0
        for some in batches([line for line in lines if not _has_ended(line)], AT_ONCE):
            edges = find(some)
            scores = {edge: _score(line) for edge, line in zip(edges, some, strict=True) if edge is not None}
            Edges(self._store, relation).set_all(scores)
            missing += edges.count(None)
        return missing

    def _people(self, lines: Sequence[Line]) -> FoundEdges:
        owners = answer(self._store, ask_owners, [line["username"] for line in lines])
        people, uids = Users(self._store).people(owners.values()), [owners.get(line["username"], 0) for line in lines]
        return [to_person(self._uid, uid) if uid in people and uid != self._uid else None for uid in uids]

    def _tags(self, lines: Sequence[Line]) -> FoundEdges:
        spellings = self._store.hmget(keys.tags(), [line["tag"] for line in lines])
        return [Edge(self._uid, line["tag"]) if used else None for line, used in zip(lines, spellings, strict=True)]

    def _posts(self, conversation: RestoredConversation, lines: Sequence[Line]) -> FoundEdges:
        own = [conversation.own.get(line["id"]) for line in lines]
        found = find(self._store, self._uid, {pid or line["id"] for pid, line in zip(own, lines, strict=True)})
        edges: FoundEdges = []
        for line, pid in zip(lines, own, strict=True):
            target = found.get(pid or line["id"])
            if target is not None and (
                pid or is_same(target, named(line["id"], line["address"]), seconds(line, "since"))
            ):
                edges.append(Edge(self._uid, str(target.pid), target.uid))
            else:
                edges.append(None)
        return edges


def _has_ended(line: Line) -> bool:
    return "until" in line and _score(line) <= time.time()


def _score(line: Line) -> float:
    """The date of an edge, not in the future; of a mute its end, for ever without one."""
    if "until" in line:
        return inf if line["until"] is None else seconds(line, "until")
    return min(seconds(line, "since"), int(time.time()))


# ---- Restoring


class AlreadyRestoring(NotDone):
    """Another process restores this account, or was killed less than LEASE seconds ago."""

    def __str__(self) -> str:
        return f"Another process imports into this account. If it was killed, run this again in {LEASE} seconds."


class GoneMeanwhile(NotDone):
    """The account that is restored was deleted."""

    def __str__(self) -> str:
        return "During the import the account was deleted. Change `username` in the file, and run this again."


@contextmanager
def only_run(store: Store, uid: int) -> Iterator[Callable[[], None]]:
    """For the time of the block no other process restores this account. Yields what `Restoring` calls before each part.
    Both raise AlreadyRestoring. Three round trips."""
    lease = LongLease(store, f"import_account:{uid}", AlreadyRestoring)
    lease.begin()
    try:
        yield lease.renew
    finally:
        lease.end()


def _digest(when: int, body: str) -> bytes:
    """By the text as the form of a post takes it: the site may store a text from a foreign database as it was there,
    while a download has it cleaned."""
    return blake2b(f"{when}:{cleaned(body)}".encode(), digest_size=8).digest()


class Restoring:
    """Adds posts to an account: `begin`, `write` with each chunk, the oldest posts first, then `finish`. `renew`: what
    `only_run` yields."""

    def __init__(self, store: Store, uid: int, renew: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._uid = uid
        self._renew = renew
        self._outbox = Outbox(store)
        self._ids = post_ids(store)
        self._present: dict[bytes, list[int]] = defaultdict(list)  # the ids of the author's posts, by their digests
        self.conversation = RestoredConversation(store, uid)
        self._counted = 0  # the highest id that the counter had given out
        self._began = 0.0  # monotonic seconds
        self._post_jobs: list[str] = []  # those that are in the outbox
        self._lists_jobs: list[str] = []

    def begin(self) -> None:
        """Finish what a killed run has left, and read the posts that the author has. They take some 200 bytes of memory
        each. Two round trips for each 500 posts, and four for each post that was left."""
        self._began = time.monotonic()
        self._counted = parse_id(self._store.get(keys.next_post_id()) or "") or 0
        self._cover_lists()
        for job in self._left():
            if not self.list_left(job):
                self._give_back(job)
            self._outbox.done(job)
        updates = keys.updates(self._uid)
        for rows in newest_first(self._store, updates):
            self._renew()
            posts = Posts(self._store).read(stored_ids(updates, [member for member, _ in rows]))
            for post in posts:
                self._present[_digest(post.time, post.body)].append(post.pid)

    def write(self, posts: Sequence[OldPost], brought: Callable[[OldPost], OldPost | None]) -> int:
        """Write the posts that the author does not have, at most 500. Returns how many were written. `brought`: a post
        with its pictures as they are here; None for one that is left out. Some 20 round trips, and one more for each
        post with pictures; more when ids are taken. Raises StoreError when the store was too slow."""
        absent = [post for post in posts if not self._takes_present(post)]
        missing = [post for one in absent if (post := self._brought(one, brought)) is not None]
        if not missing:
            return 0
        self.conversation.find(missing)
        keeping = {post.pid: post for post in missing if self._may_keep(post.pid)}
        if keeping:
            self._wait_for_posts_under_way()
        self._renew()
        leased = owned(self._store)  # a worker may remove the jobs later, and `cleanup` the claims
        self._cover_lists()
        claimed = self._claimed(leased, keeping)
        while without_id := _missing_from(claimed, missing):
            claimed |= self._claimed(leased, dict(zip(self._ids.some(len(without_id)), without_id, strict=True)))
        self._write_hashes(leased, missing, claimed)
        if not self._list(leased, {pid: post.body for pid, post in claimed.items()}):
            raise GoneMeanwhile
        Pictures(leased).shown(self._uid, {digest for post in missing for digest in post.media.digests})
        Outbox(leased).all_done([*self._post_jobs, *self._lists_jobs[:-1]])
        self._post_jobs.clear()
        del self._lists_jobs[:-1]
        return len(claimed)

    def _brought(self, post: OldPost, brought: Callable[[OldPost], OldPost | None]) -> OldPost | None:
        """To decode its pictures may take seconds."""
        self._renew()
        return brought(post)

    def finish(self) -> None:
        """Drop the lists that lack the posts: their next read finds them. One round trip for each 2048 followers, and
        two more."""
        drop_lists(self._store, self._uid)
        self._outbox.all_done(self._lists_jobs)

    def list_left(self, job: str) -> bool:
        """List a post that a killed run has left. Returns False when its text was not written. Its job stays. At most
        three round trips, and those of `_list`."""
        pid = job_id(job, 1)
        author, body = self._store.hmget(keys.post(pid), ["user_id", "body"])
        if author == str(self._uid) and body is not None:
            self._list(self._store, {pid: body})
            # Read after the write: a deletion marks the post first, and takes it out of `updates:` then.
            if self._store.hexists(keys.post(pid), "deleted"):
                remove_members(self._store, keys.updates(self._uid), [str(pid)])
        return body is not None

    def _give_back(self, job: str) -> None:
        """Make an id free again that a killed run has claimed. A worker does not: that run might still go on."""
        pid = job_id(job, 1)
        author, body = self._store.hmget(keys.post(pid), ["user_id", "body"])
        if author == str(self._uid) and body is None:
            self._store.unlink(keys.post(pid))
            self._store.unlink(keys.edits(pid))

    def _left(self) -> list[str]:
        """The jobs for posts of this user."""
        return [
            job
            for key in keys.outbox.all()
            for jobs in self._store.zset_members(key, READ_AT_ONCE)
            for job in jobs
            if job.split(":")[0:3:2] == ["restore", str(self._uid)] and NOT_UTF_8 not in job
        ]

    def _cover_lists(self) -> None:
        job = f"lists:{self._uid}:{nonce()}"
        self._outbox.add(job)
        self._lists_jobs.append(job)

    def _takes_present(self, post: OldPost) -> bool:
        """Whether the author has this post. Each of the author's posts stands for one of the download."""
        same = self._present[_digest(post.time, post.body)]
        if same:
            self.conversation.own[post.pid] = same.pop()
            return True
        return False

    def _may_keep(self, pid: int) -> bool:
        if pid < SMALLEST or settings.POST_IDS == "incr":
            return pid <= self._counted
        return (made_at(pid) or 0) < time.time() - OWNER_GIVES_UP

    def _wait_for_posts_under_way(self) -> None:
        """A post gets its number before it has a hash. After OWNER_GIVES_UP seconds, its owner has given up: then a
        number that was given out before `begin` and has no hash is free."""
        time.sleep(max(self._began + OWNER_GIVES_UP + 1 - time.monotonic(), 0))

    def _claimed(self, leased: Store, candidates: Mapping[int, OldPost]) -> dict[int, OldPost]:
        """The posts, by id, whose ids were free and are claimed now. Two round trips; none without candidates."""
        jobs = [f"restore:{pid}:{self._uid}:{nonce()}" for pid in candidates]
        self._post_jobs += jobs
        store, uid = Outbox(leased).add_all(jobs), str(self._uid)
        is_claimed = answers(store, lambda pipe, pid: pipe.hsetnx(keys.post(pid), "user_id", uid), candidates)
        return {pid: candidates[pid] for pid in filter(is_claimed.get, candidates)}

    def _write_hashes(self, leased: Store, posts: Sequence[OldPost], claimed: Mapping[int, OldPost]) -> None:
        """Write the posts, the oldest first: a later one may reply to it. The earlier texts of a post go before its
        body: a hash with a body is whole. Pictures are marked first. One round trip; one more where posts have earlier
        texts, and for each post with pictures."""
        pids = {id(post): pid for pid, post in claimed.items()}
        for post in posts:
            Pictures(leased).keep(Mark("post", self._uid, pids[id(post)]), post.media.digests)
        with leased.pipeline() as pipe:
            for post in posts:
                if post.texts:
                    pipe.hset(keys.edits(pids[id(post)]), {str(since): text for since, text in post.texts})
        with leased.pipeline() as pipe:
            for post in posts:
                pid = pids[id(post)]
                self.conversation.own[post.pid] = pid
                links, edited = self.conversation.links(pid, post), post.texts[-1].since if post.texts else None
                new = Record(pid, self._uid, post.time, post.body, links, NO_COUNTS, edited, post.language, post.media)
                pipe.hset(keys.post(pid), stored_as(new))

    def _list(self, leased: Store, bodies: Mapping[int, str]) -> bool:
        """Add posts (their texts, by id) to `updates:`, the commit, and then to the threads, quotes and tags in which
        they stand. Two round trips, and those of `Settling.settle` and `drop_homes_of_tags`. Returns False, and deletes
        the posts, when the account is deleted.

        The deletion is read after the write. Either this read sees it, or the worker that removes the account sees the
        posts."""
        pids = [*bodies]
        with leased.pipeline() as pipe:
            pipe.zadd(keys.updates(self._uid), {str(pid): pid for pid in pids})
            for pid in pids:
                leave_to_the_index(pipe, pid)
                if pid > self._counted:  # a counted id is found by counting down
                    self._ids.queue_as_recent(pipe, pid)
        if leased.hget(keys.user(self._uid), "deleted") is not None:
            mark_deleted(leased, pids)
            Settling(leased).settle(pids)  # the jobs of the posts stay in the outbox
            remove_members(leased, keys.updates(self._uid), map(str, pids))
            return False
        Settling(leased).settle(pids)
        Delivery(self._store).drop_homes_of_tags({tag for body in bodies.values() for tag in tags_in(body)})
        return True


def _missing_from(claimed: Mapping[int, OldPost], posts: Sequence[OldPost]) -> list[OldPost]:
    """The posts without a claimed id. Two posts of a download may be equal, so they are told apart by identity."""
    with_id = {id(post) for post in claimed.values()}
    return [post for post in posts if id(post) not in with_id]


def require_account(store: Store, uid: int) -> None:
    """Raises GoneMeanwhile. One round trip."""
    if store.hget(keys.user(uid), "deleted") is not None:
        raise GoneMeanwhile


def drop_lists(store: Store, uid: int) -> None:
    """Drop the homes of a user and of the user's followers, and the global timeline."""
    for_each(store, lambda pipe, key: pipe.unlink(key), keys.timeline.all())
    Delivery(store).drop_homes(uid)


def finish_post(store: Store, claim: Claim) -> None:
    """The job `restore:<pid>:<uid>:<nonce>`: finish a post whose import was killed."""
    uid = job_id(claim.name, 2)
    Restoring(store, uid).list_left(claim.name)
    drop_lists(store, uid)


def finish_lists(store: Store, claim: Claim) -> None:
    """The job `lists:<uid>:<nonce>`: drop the lists that lack imported posts."""
    drop_lists(store, job_id(claim.name, 1))


# ---- The pictures of a download, brought back: each is decoded like an upload, since the file may have been changed.


REFUSED = "pictures were left out: they are not in the file, cannot be read, or find no room."
WITHOUT = "posts were left out: they had pictures alone, which were left out."


class RestoredPictures:
    """The pictures of one download. `file_of`: the content of a picture in it, by its digest there; None without it."""

    def __init__(self, store: Store, uid: int, file_of: Callable[[str], bytes | None]) -> None:
        self._store = store
        self._uid = uid
        self._file_of = file_of
        self._here: dict[str, Picture | None] = {}  # those of posts, by their digests in the file
        self.left_out: Counter[str] = Counter()  # by sentence

    def of_post(self, post: OldPost) -> OldPost | None:
        """The post with its pictures as this site has them; None when nothing of it is left. Round trips of
        `Pictures.take` for each picture that is met first."""
        if not post.media.pictures:
            return post
        pictures = tuple(one for old in post.media.pictures if (one := self._of_post(old)) is not None)
        if not pictures and not post.body:
            self.left_out[WITHOUT] += 1
            return None
        return post._replace(media=post.media._replace(pictures=pictures))

    def _of_post(self, old: Picture) -> Picture | None:
        if old.digest not in self._here:
            self._here[old.digest] = self._taken(old.digest, Shape.POST)
        here = self._here[old.digest]
        return here._replace(alt=alt_of(old.alt), focus=old.focus) if here is not None else None

    def to_profile(self, account: Line) -> None:
        """The profile picture and the header, where the account has none. Round trips of `Pictures.take` and of
        `ProfilePictures.choose` for each, and one."""
        stored = self._store.hmget(keys.user(self._uid), [*ProfilePicture])
        for kind, present in zip(ProfilePicture, stored, strict=True):
            named = account.get(kind, "")
            if not present and is_digest(named):
                taken = self._taken(named, kind.shape)
                if taken is not None:
                    ProfilePictures(self._store).choose(self._uid, kind, taken.digest)

    def _taken(self, digest: str, shape: Shape) -> Picture | None:
        content = self._file_of(digest)
        try:
            new = Pictures(self._store).take(self._uid, content, shape) if content else None
        except PictureRefused:
            new = None
        if new is None:
            self.left_out[REFUSED] += 1
            return None
        moving = ANIMATED if ANIMATED in new.files else ""
        return Picture(new.digest, new.width, new.height, blurhash=new.blurhash, moving=moving)
