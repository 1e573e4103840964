"""Writes as Retwis-RB does, and as retwis-py, which has its keys."""

import hashlib


class RubyRetwis:
    def __init__(self, redis):
        self._redis = redis

    def register(self, name, password):
        uid = self._redis.incr("user:uid")
        self._redis.set(f"user:id:{uid}:username", name)
        self._redis.set(f"user:username:{name}", uid)
        self.store_password(uid, password)
        self._redis.lpush("users", uid)
        return uid

    def store_password(self, uid, password):
        salt = "saltéd"[:4] + str(uid)
        self._redis.set(f"user:id:{uid}:salt", salt)
        digest = hashlib.md5((salt + password).encode(), usedforsecurity=False).hexdigest()
        self._redis.set(f"user:id:{uid}:hashed_password", digest)

    def follow(self, follower, followed):
        self._redis.sadd(f"user:id:{follower}:followees", followed)
        self._redis.sadd(f"user:id:{followed}:followers", follower)

    def post(self, uid, text, at):
        pid = self._redis.incr("post:uid")
        self._redis.set(f"post:id:{pid}:content", text)
        self._redis.set(f"post:id:{pid}:user_id", uid)
        self.store_time(pid, at)
        self._redis.lpush(f"user:id:{uid}:posts", pid)
        for reader in [uid, *self._redis.smembers(f"user:id:{uid}:followers")]:
            self._redis.lpush(f"user:id:{reader}:timeline", pid)
        self._redis.lpush("timeline", pid)
        return pid

    def store_time(self, pid, at):
        self._redis.set(f"post:id:{pid}:created_at", at)


class PythonRetwis(RubyRetwis):
    def store_password(self, uid, password):
        self._redis.set(f"user:id:{uid}:password", f"retwis{password}")

    def store_time(self, pid, at):
        self._redis.sadd("posts:id", pid)

    def open_session(self, pickled):
        self._redis.set("abcdefgh", pickled)
