"""Writes as retwis-symfony does."""


class SymfonyRetwis:
    def __init__(self, redis):
        self._redis = redis

    def register(self, username, password_hash, at, **profile):
        uid = self._redis.incr("users:next_id")
        self._redis.hset("users:identifiers", username, uid)
        fields = {"id": uid, "username": username, "password": password_hash, "registered": at}
        self._redis.hset(f"user:{uid}", mapping={**fields, "name": "", "bio": "", "location": "", **profile})
        self._redis.zadd("users:recently-registered", {uid: at})
        return uid

    def follow(self, follower, followed, at):
        self._redis.zadd(f"following:{follower}", {followed: at})
        self._redis.zadd(f"followers:{followed}", {follower: at})

    def post(self, uid, message, at):
        pid = self._redis.incr("post:next_id")
        self._redis.hset(f"post:{pid}", mapping={"id": pid, "author": uid, "message": message, "published": at})
        for key in ("posts:recently-published", f"timeline:main:{uid}", f"timeline:personal:{uid}"):
            self._redis.zadd(key, {pid: at})
        return pid

    def like(self, uid, pid, at):
        self._redis.zadd(f"post:likes:{pid}", {uid: at})
        self._redis.zadd(f"user:likes:{uid}", {pid: at})
