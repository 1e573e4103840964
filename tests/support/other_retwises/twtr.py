"""Writes as the article "Designing Twitter Clone in Redis" says. Lists are cut into chunks; old ones get a number."""

CHUNK = 100


class TwtrSite:
    def __init__(self, redis, follows="follows"):
        self._redis = redis
        self._follows = follows  # the article's example has `following`

    def follow(self, follower, followed):
        self._redis.sadd(f"twtr:{follower}:{self._follows}", followed)
        self._redis.sadd(f"twtr:{followed}:followers", follower)

    def post(self, name, text, at):
        pid = self._redis.incr("twtr:post_id:next")
        self.store(name, pid, text, at)
        self._redis.set(f"twtr:post_owner:{pid}", name)
        self._push(f"twtr:{name}:list:current", f"twtr:{name}:", pid)
        for reader in self._redis.smembers(f"twtr:{name}:followers"):
            self._push(f"twtr:{reader}:timeline:current", f"twtr:{reader}:timeline:", pid)
        return pid

    def store(self, name, pid, text, at):
        self._redis.set(f"twtr:{name}:post:{pid}", text)
        self._redis.set(f"twtr:{name}:post:{pid}:created_at", at)

    def _push(self, current, prefix, pid):
        if self._redis.llen(current) == CHUNK:
            number = self._redis.incr(f"{prefix}list_next")
            self._redis.rename(current, f"{prefix}list:{number}")
            self._redis.lpush(f"{prefix}lists", number)
        self._redis.lpush(current, pid)

    def archive(self, name):
        """The old chunks of a person expire."""
        for number in self._redis.lrange(f"twtr:{name}:lists", 0, -1):
            self._redis.delete(f"twtr:{name}:list:{number}")


class CompactTwtrSite(TwtrSite):
    def store(self, name, pid, text, at):
        self._redis.set(f"twtr:{name}:post:{pid}", f"{at}|{text}")
