"""Writes as the official PHP of 2014 does: register.php, follow.php and post.php."""


class OfficialRetwis:
    def __init__(self, redis):
        self._redis = redis

    def register(self, name, password, at):
        redis, uid = self._redis, self._redis.incr("next_user_id")
        secret = f"{uid:032x}"
        redis.hset("users", name, uid)
        redis.hset(f"user:{uid}", mapping={"username": name, "password": password, "auth": secret})
        redis.hset("auths", secret, uid)
        redis.zadd("users_by_time", {name: at})
        return uid

    def follow(self, follower, followed, at):
        self._redis.zadd(f"followers:{followed}", {follower: at})
        self._redis.zadd(f"following:{follower}", {followed: at})

    def post(self, uid, body, at):
        redis, pid = self._redis, self._redis.incr("next_post_id")
        redis.hset(f"post:{pid}", mapping={"user_id": uid, "time": at, "body": body})
        for reader in [*redis.zrange(f"followers:{uid}", 0, -1), uid]:
            redis.lpush(f"posts:{reader}", pid)
        redis.lpush("timeline", pid)
        redis.ltrim("timeline", 0, 1000)
        return pid
