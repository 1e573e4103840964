"""Writes as Retwis-J does."""


class JavaRetwis:
    def __init__(self, redis):
        self._redis = redis

    def register(self, name, password):
        uid = self._redis.incr("global:uid")
        self._redis.hset(f"uid:{uid}", mapping={"name": name, "pass": password})
        self._redis.set(f"user:{name}:uid", uid)
        self._redis.lpush("users", name)
        self._redis.set(f"uid:{uid}:auth", f"00000000-0000-0000-0000-{uid:012}")
        self._redis.set(f"auth:00000000-0000-0000-0000-{uid:012}", uid)
        return uid

    def follow(self, follower, followed):
        self._redis.sadd(f"uid:{follower}:following", followed)
        self._redis.sadd(f"uid:{followed}:followers", follower)
        self._redis.sadd(f"uid:{follower}:also:uid:{followed}", followed)

    def post(self, uid, text, at, reply_to=None):
        pid = self._redis.incr("global:pid")
        answered = {"replyPid": "null", "replyUid": "null"}
        if reply_to:
            answered = {"replyPid": reply_to, "replyUid": self._redis.hget(f"pid:{reply_to}", "uid") or "null"}
        self._redis.hset(f"pid:{pid}", mapping={"content": text, "uid": uid, "time": at * 1000 + 999, **answered})
        for key in (f"uid:{uid}:posts", f"uid:{uid}:timeline", "timeline"):
            self._redis.lpush(key, pid)
        for reader in self._redis.smembers(f"uid:{uid}:followers"):
            self._redis.lpush(f"uid:{reader}:timeline", pid)
        return pid
