"""A database as the official PHP Retwis of 2014 writes it: retwis.php, register.php, follow.php and post.php."""

from hashlib import md5

AMELIA, BOB, CAROL, SHOUTING = 1, 2, 3, 4  # uids
BEGAN = 1_400_000_000  # unix seconds of the first registration
CLEAR = {AMELIA: "amelia's own words", BOB: "!bob", CAROL: "pbkdf2_sha256$carol", SHOUTING: "AMELIA!"}  # as typed


class OfficialDatabase:
    """Writes with the commands of the PHP, in their order. `at`: the unix second, else a minute later each time."""

    def __init__(self, raw):
        self.raw = raw
        self.now = BEGAN

    def register(self, username, password, at=None):
        raw, uid = self.raw, self.raw.incr("next_user_id")
        secret = md5(f"{username}{uid}".encode(), usedforsecurity=False).hexdigest()
        raw.hset("users", username, uid)
        raw.hset(f"user:{uid}", mapping={"username": username, "password": password, "auth": secret})
        raw.hset("auths", secret, uid)
        raw.zadd("users_by_time", {username: at or self._tick()})
        return uid

    def follow(self, me, them, at=None):
        when = at or self._tick()
        self.raw.zadd(f"followers:{them}", {me: when})
        self.raw.zadd(f"following:{me}", {them: when})

    def post(self, uid, body, at=None):
        raw, pid = self.raw, self.raw.incr("next_post_id")
        raw.hset(f"post:{pid}", mapping={"user_id": uid, "time": at or self._tick(), "body": body})
        for follower in [*raw.zrange(f"followers:{uid}", 0, -1), uid]:
            raw.lpush(f"posts:{follower}", pid)
        raw.lpush("timeline", pid)
        raw.ltrim("timeline", 0, 1000)
        return pid

    def secret(self, uid):
        return self.raw.hget(f"user:{uid}", "auth")

    def _tick(self):
        self.now += 60
        return self.now


def make_official_database(raw):
    """Four people, two of them with the same name in other letters. bob wrote a post before amelia followed him, so her
    home has a hole. 30 posts in all."""
    php = OfficialDatabase(raw)
    for uid, name in ((AMELIA, "Amelia"), (BOB, "bob"), (CAROL, "Carol of the Wells"), (SHOUTING, "AMELIA")):
        assert php.register(name, CLEAR[uid]) == uid
    php.post(BOB, "Before anyone followed me")
    php.follow(AMELIA, BOB)
    php.follow(CAROL, AMELIA)
    php.follow(SHOUTING, AMELIA)
    for number in range(1, 30):
        php.post((AMELIA, BOB, CAROL)[number % 3], f"Post number {number}")
    return php
