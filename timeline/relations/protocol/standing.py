"""Which edges of a person stand, for pages."""

import time
from collections.abc import Collection

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.relations.protocol.relation import Relation, Scores


def ask_standing(pipe: Pipe, relation: Relation, who: int, targets: Collection[int]) -> Answer[set[int]]:
    """Those of these people, posts or threads that a person has an edge to, such as the posts that they like. An edge
    that has ended is none. One command; none without targets."""
    if not targets:
        return Answer(set[int])
    scores = pipe.zmscore(relation.truth(who), [str(target) for target in targets])
    after = time.time() if relation.scores is Scores.UNTIL else -1

    def read() -> set[int]:
        pairs = zip(targets, scores.value, strict=True)
        return {target for target, score in pairs if score is not None and score > after}

    return Answer(read)
