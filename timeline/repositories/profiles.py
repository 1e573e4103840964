"""A profile: somebody's own posts, and how the viewer stands to them."""

from accounts.entities import User
from accounts.visit import Visit
from retwis_site import keys
from retwis_site.memory import PageMemory
from retwis_site.store import Pipe, Store
from timeline.entities import Counts, InCommon, NoSuchPost, Page, Post, PostDeleted, ProfilePage, Relation
from timeline.repositories.follows import Comparison, Follows, compare
from timeline.repositories.paging import POSTS_A_PAGE
from timeline.repositories.reading import Wanted, queue_post, record

_common: PageMemory[Comparison, InCommon] = PageMemory(size=20_000, seconds=5)


class Profiles:
    """Pages about one person."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)

    def page(self, visit: Visit, username: str, before: int | None) -> ProfilePage:
        """Their posts below the cursor, newest first. With hints, and while all is remembered, one round trip; else
        two, three for somebody else's while signed in (what both have in common). Raises NoSuchUser, AccountDeleted."""

        def questions(pipe: Pipe, me: int | None, them: int) -> None:
            below = "+inf" if before is None else f"({before}"
            pipe.zrevrangebyscore(keys.updates(them), below, "-inf", POSTS_A_PAGE + 1)
            self._follows.queue_following_count(pipe, them)
            self._follows.queue_followers_count(pipe, them)
            if me is not None and me != them:
                self._follows.queue_which_followed(pipe, me, [them])
                self._follows.queue_following_count(pipe, me)
                self._follows.queue_followers_count(pipe, me)

        person, (found, following, followers, *mine) = visit.ask_about(username, questions)
        pids = [int(pid) for pid in found]
        older = pids[POSTS_A_PAGE - 1] if len(pids) > POSTS_A_PAGE else None
        me = viewer.uid if isinstance(viewer := visit.user, User) else None
        comparisons: list[Comparison] = []
        if mine and me is not None:
            (is_following,), my_following, my_followers = mine
            comparisons = [
                compare(keys.followers(me), my_followers, keys.followers(person.uid), followers),
                compare(keys.following(me), my_following, keys.following(person.uid), following),
            ]
        wanted = Wanted(pids[:POSTS_A_PAGE], me)
        common = self._ask(wanted, comparisons)
        posts = [post for post in wanted.shown({person.uid: person}) if post.author.uid == person.uid]
        relation = Relation(me == person.uid, bool(mine) and is_following is not None, *common)
        return ProfilePage(person, Counts(following, followers), relation, Page(posts, older))

    def _ask(self, wanted: Wanted, comparisons: list[Comparison]) -> list[InCommon]:
        """Ask for the posts, and what each comparison counts. No round trip while all is remembered, else one; two
        with anything to compare."""
        pipe = self._store.pipeline()
        wanted.queue(pipe)
        common = _common.some(comparisons)
        comparing = [comparison for comparison in comparisons if comparison not in common]
        for comparison in comparing:
            comparison.queue_smaller(pipe)
        smaller = wanted.take(pipe.execute())
        shared = [(comparison, ids) for comparison, ids in zip(comparing, smaller, strict=True) if ids]
        for comparison, ids in shared:
            comparison.queue_shared(pipe, ids)
        counted = {comparison: reply for (comparison, _), reply in zip(shared, pipe.execute(), strict=True)}
        for comparison in comparing:
            common[comparison] = comparison.in_common(counted.get(comparison, []))
            _common.put(comparison, common[comparison])
        return [common[comparison] for comparison in comparisons]

    def post(self, visit: Visit, username: str, pid: int) -> Post:
        """One post of theirs. One round trip with hints. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted."""

        def questions(pipe: Pipe, me: int | None, them: int) -> None:
            queue_post(pipe, pid)
            pipe.zscore(keys.updates(them), str(pid))

        author, (stored, standing) = visit.ask_about(username, questions)
        written_by, _, _, deleted = stored
        if written_by != str(author.uid):
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        found = record(pid, stored)
        if found is None or standing is None:  # it never got as far as its commit
            raise NoSuchPost(pid)
        return Post(pid, author, found.body, found.time)
