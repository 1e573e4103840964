"""The ranking `users_by_followers`: the number of followers of each user. Users without followers are not in it."""

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer, Reply


class Ranking:
    """It is a `Count`: the number of edges to a user is their score."""

    def ask(self, pipe: Pipe, target: int) -> Reply[int]:
        return pipe.zcard(keys.followers(target))

    def ask_written(self, pipe: Pipe, target: int) -> Answer[float]:
        score = pipe.zscore(keys.users_by_followers(), str(target))
        return Answer(lambda: score.value or 0)

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        if number:
            pipe.zadd(keys.users_by_followers(), {str(target): number})
        else:
            pipe.zrem(keys.users_by_followers(), str(target))


RANKING = Ranking()
