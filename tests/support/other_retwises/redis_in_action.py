"""Writes as chapter 8 of Redis in Action does."""


class RedisInActionSite:
    def __init__(self, redis):
        self._redis = redis

    def register(self, login, name, at):
        uid = self._redis.incr("user:id:")
        self._redis.hset("users:", login.lower(), uid)
        counts = {"followers": 0, "following": 0, "posts": 0}
        self._redis.hset(f"user:{uid}", mapping={"login": login, "id": uid, "name": name, "signup": at, **counts})
        return uid

    def follow(self, follower, followed, at):
        self._redis.zadd(f"following:{follower}", {followed: at})
        self._redis.zadd(f"followers:{followed}", {follower: at})
        self._redis.hincrby(f"user:{follower}", "following", 1)
        self._redis.hincrby(f"user:{followed}", "followers", 1)

    def post(self, uid, message, at):
        sid = self._redis.incr("status:id:")
        login = self._redis.hget(f"user:{uid}", "login")
        status = {"message": message, "posted": at, "id": sid, "uid": uid, "login": login}
        self._redis.hset(f"status:{sid}", mapping=status)
        self._redis.hincrby(f"user:{uid}", "posts")
        for key in (f"profile:{uid}", f"home:{uid}"):
            self._redis.zadd(key, {sid: at})
        return sid
