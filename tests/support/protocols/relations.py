"""All relations, for tests that are the same for each of them."""

from dataclasses import dataclass

from retwis_site.jobs.outbox import Claim
from retwis_site.store import keys
from retwis_site.store.kinds import POST, USER, OfId
from tests.support.protocols.interleaving import finish
from tests.support.stored_keys import everything
from timeline.posts.delivery import Reposts
from timeline.relations import relations
from timeline.relations.edges import Edges
from timeline.relations.home_tags import HOME_TAG
from timeline.relations.relation import Edge, Relation, to_person

ALICE, BOB, CAROL = 1, 2, 3
BOBS_POST, CAROLS_POST = 1, 2  # of the small site
TAG = "redis"  # all of the small site follow it
AT = 7  # the score of the edges that tests set


@dataclass(frozen=True)
class Case:
    """A relation, with the keys that tests read. Each edge leads to bob or to his post, or to a thread or a tag."""

    relation: Relation
    target: int | str
    truth: str  # prefixes of the keys
    mirror: str | None = None
    round_trips: tuple[int, int] = (4, 4)  # to set an edge, and to unset it
    job_after: tuple[int, int] = (1, 1)  # so many of them; then its job is in the outbox

    def edge(self, who):
        if self.relation.leads_to == USER:
            return to_person(who, self.target)
        return Edge(who, str(self.target), BOB if self.relation.leads_to == POST else 0)

    def set(self, store, who):
        return lambda: Edges(store, self.relation).set(self.edge(who), AT)

    def unset(self, store, who):
        return lambda: Edges(store, self.relation).unset(self.edge(who))

    def change(self, store, verb, who):
        return (self.set if verb == "set" else self.unset)(store, who)

    def work(self, store, job):
        """What a worker does that has claimed this job."""
        return lambda: finish(Claim(store, job, attempt=1))

    def scores(self, raw, who):
        """The scores of an edge in its truth and in its mirror; twice the first where the relation has no mirror."""
        score = raw.zscore(f"{self.truth}:{who}", self.target)
        return score, raw.zscore(f"{self.mirror}:{self.target}", who) if self.mirror else score

    def count(self, raw):
        if self.relation is relations.FOLLOW:
            return raw.zscore("users_by_followers", self.target)
        if self.relation.count is None:
            return None
        stored = raw.hget(f"post:{self.target}", self.relation.count.name)
        return None if stored is None else int(stored)


class RepostCase(Case):
    """A repost is a post too: its hash comes before its job, and its score is its own id."""

    def edge(self, who):
        return Edge(who, str(self.target), BOB, own_post=50 + who)

    def set(self, store, who):
        return lambda: Reposts(store).repost(who, self.target, BOB)

    def unset(self, store, who):
        return lambda: Reposts(store).undo(who, self.target, BOB)


CASES = {
    "follow": Case(relations.FOLLOW, BOB, "following", "followers", (7, 8)),
    "like": Case(relations.LIKE, BOBS_POST, "likes", "liked_by", (7, 7)),
    "repost": RepostCase(relations.REPOST, BOBS_POST, "reposts", "reposted_by", (13, 10), (4, 2)),
    "block": Case(relations.BLOCK, BOB, "blocked", "blocked_by", (12, 10)),
    "bookmark": Case(relations.BOOKMARK, BOBS_POST, "bookmarks"),
    "mute": Case(relations.MUTE, BOB, "muted", round_trips=(5, 4)),
    "mute of reposts": Case(relations.MUTE_REPOSTS, BOB, "muted_reposts"),
    "mute of a thread": Case(relations.MUTE_THREAD, BOBS_POST, "muted_threads"),
    "mute of words": Case(relations.MUTE_WORDS, "home fold the finale", "muted_words"),
    "follow of a tag": Case(relations.TAG_FOLLOW, "python", "tags_of", round_trips=(4, 5)),
    "tag at home": Case(HOME_TAG, TAG, "home_tags", "homes_of_tag", round_trips=(5, 5)),
}


def _edges(stored, prefix):
    return {(of, member): score for of, members in _family(stored, prefix) for member, score in members}


def _family(stored, prefix):
    """The values of the keys with this prefix, by the number behind it, or the tag."""
    found = [(key.partition(":")[2], value) for key, value in stored.items() if key.startswith(f"{prefix}:")]
    return [(int(of) if of.isdecimal() else of, value) for of, value in found]


def counted(raw, key):
    """How many members of a sorted set a number counts: without people whom staff has hidden, and their posts."""
    return len({*raw.zrange(key, 0, -1)} - {*raw.zrange(f"unseen:{key}", 0, -1)})


def assert_relations_agree(raw, where):
    """Each mirror and each count agrees with its truth, no edge leads from or to what is deleted, reposts are listed
    while they stand, and no count has made the hash of a post."""
    stored = everything(raw)
    for case in CASES.values():
        truth = _edges(stored, case.truth)
        for who, _ in truth:
            assert "deleted" not in stored.get(keys.user(who), ()), (where, who)
        if case.mirror is None:
            continue
        mirror = {(int(who), str(target)): score for (target, who), score in _edges(stored, case.mirror).items()}
        assert mirror == truth, (where, case.truth)
        for _, target in truth if isinstance(case.relation.mirror, OfId) else ():
            key = keys.user(target) if case.relation.leads_to == USER else keys.post(target)
            assert key in stored, (where, key)
            assert "deleted" not in stored[key], (where, key)
    followers = {str(uid): counted(raw, f"followers:{uid}") for uid, _ in _family(stored, "followers")}
    ranked = {uid: number for uid, number in followers.items() if number}
    assert dict(stored.get("users_by_followers", ())) == ranked, where
    posts = dict(_family(stored, "post"))
    for pid, post in posts.items():
        assert "user_id" in post, (where, pid, post)
        for name, mirror in (("likes", "liked_by"), ("reposts", "reposted_by")):
            number = counted(raw, f"{mirror}:{pid}")
            assert post.get(name) == (str(number) if number else None), (where, pid, name)
    listed = {(who, int(pid)): posts[int(pid)] for who, pid in _edges(stored, "updates")}  # each has its hash
    reposts = {(who, int(own)): target for (who, target), own in _edges(stored, "reposts").items()}
    assert {one: post["repost_of"] for one, post in listed.items() if "repost_of" in post} == reposts, where
