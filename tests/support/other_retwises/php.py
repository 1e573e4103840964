"""Writes as the official PHP of 2009 to 2011 does, and as its dialects do."""


class PhpRetwis:
    name_ending = "id"  # the article has `uid`

    def __init__(self, redis):
        self._redis = redis

    def register(self, name, password):
        redis, uid = self._redis, self._redis.incr("global:nextUserId")
        secret = f"{uid:032x}"
        redis.set(f"username:{name}:{self.name_ending}", uid)
        redis.set(f"uid:{uid}:username", name)
        redis.set(f"uid:{uid}:password", password)
        redis.set(f"uid:{uid}:auth", secret)
        redis.set(f"auth:{secret}", uid)
        redis.sadd("global:users", uid)
        return uid

    def follow(self, follower, followed):
        self._redis.sadd(f"uid:{followed}:followers", follower)
        self._redis.sadd(f"uid:{follower}:following", followed)

    def post(self, uid, text, at):
        pid = self._redis.incr("global:nextPostId")
        self._redis.set(f"post:{pid}", self.stored(uid, text, at))
        self.deliver(uid, pid, at)
        self._redis.lpush("global:timeline", pid)
        self._redis.ltrim("global:timeline", 0, 1000)
        return pid

    def stored(self, uid, text, at):
        return f"{uid}|{at}|{text}"

    def deliver(self, uid, pid, at):
        for reader in [*self._redis.smembers(f"uid:{uid}:followers"), uid]:
            self._redis.lpush(f"uid:{reader}:posts", pid)


class ArticleRetwis(PhpRetwis):
    """As the article says it."""

    name_ending = "uid"


class DjangoRetwis(PhpRetwis):
    """`posts` has the user's own posts, and a sorted set has the home timeline."""

    def deliver(self, uid, pid, at):
        self._redis.lpush(f"uid:{uid}:posts", pid)
        for reader in [*self._redis.smembers(f"uid:{uid}:followers"), uid]:
            self._redis.zadd(f"uid:{reader}:news", {pid: at})


class Retwisn(PhpRetwis):
    """A post has the author's name, and its time in milliseconds."""

    def stored(self, uid, text, at):
        return f"{self._redis.get(f'uid:{uid}:username')}|{at * 1000 + 7}|{text}"


class RetwisJs(PhpRetwis):
    """A post has a version, its own id, and the author's name too; its time is in milliseconds."""

    def stored(self, uid, text, at):
        pid = self._redis.get("global:nextPostId")
        return f"1|{pid}|{uid}|{self._redis.get(f'uid:{uid}:username')}|{at * 1000 + 7}|{text}"
