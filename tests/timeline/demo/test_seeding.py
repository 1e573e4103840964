"""`manage.py seed`: a demo community as real people would have left it, and the same one every time."""

import re
import statistics
import time
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.management import CommandError, call_command, load_command_class

from accounts.settings.forms import ProfileForm
from retwis_site.store import keys
from tests.support.http.answers import Page
from tests.support.people import PASSWORD, register
from tests.support.stored_keys import called, counted, everything, filed, ranked
from timeline.demo import seeding

DEMO_LOGIN = {"username": "demo", "password": "retwis-demo"}


def seed(*arguments, users=60, posts=300, follows=8, **options):
    numbers = (f"--users={users}", f"--posts={posts}", f"--follows={follows}")
    call_command("seed", *numbers, *arguments, **{"verbosity": 0, **options})


def edges(raw, side):
    """(whose set, who stands in it): since when."""
    return {
        (int(key.removeprefix(side)), int(uid)): since
        for key in raw.keys(f"{side}*")
        for uid, since in raw.zrange(key, 0, -1, withscores=True)
    }


def posts(raw):
    return {int(key.removeprefix("post:")): raw.hgetall(key) for key in raw.keys("post:*")}


def joined(raw):
    """When each user registered, by uid."""
    uids = raw.hgetall("users")
    return {int(uids[name.lower()]): when for name, when in raw.zrange("users_by_time", 0, -1, withscores=True)}


# ---- what is made


def test_the_numbers_are_exactly_those_asked_for(raw):
    seed(users=60, posts=300, follows=8)
    assert raw.hlen("users") == raw.hlen("auths") == raw.zcard("users_by_time") == len(raw.keys("user:*")) == 60
    assert raw.get("next_user_id") == "60"
    assert len(posts(raw)) == 300
    assert raw.get("next_post_id") == "300"
    assert len(edges(raw, "following:")) == 60 * 8


def test_without_numbers_there_are_a_thousand_people():
    options = load_command_class("timeline", "seed").create_parser("manage.py", "seed").parse_args([])
    assert (options.users, options.posts, options.follows) == (1000, 20_000, 40)


def test_the_keys_are_those_of_the_key_table(raw):
    seed()
    types = {
        "next_user_id": "string",
        "next_post_id": "string",
        "users": "hash",
        "auths": "hash",
        "users_by_time": "zset",
        "users_by_name": "zset",
        "users_by_followers": "zset",
        "user": "hash",
        "post": "hash",
        "following": "zset",
        "followers": "zset",
        "updates": "zset",
    }
    found = raw.keys()
    assert {key: raw.type(key) for key in found} == {key: types[key.partition(":")[0]] for key in found}
    assert all(re.fullmatch(r"[a-z_]+(:[1-9][0-9]*)?", key) for key in found)
    assert {raw.ttl(key) for key in found} == {-1}


def test_every_user_has_a_name_a_secret_and_the_one_password(raw):
    seed()
    names = raw.hgetall("users")
    users = {uid: raw.hgetall(f"user:{uid}") for uid in names.values()}
    assert set(users) == {str(uid) for uid in range(1, 61)}
    assert all(set(user) - {"name", "bio"} == {"username", "password", "auth"} for user in users.values())
    assert names == {user["username"].lower(): uid for uid, user in users.items()}
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,30}", user["username"]) for user in users.values())
    assert raw.hgetall("auths") == {user["auth"]: uid for uid, user in users.items()}
    assert all(re.fullmatch("[0-9a-f]{32}", user["auth"]) for user in users.values())
    (encoded,) = {user["password"] for user in users.values()}
    assert check_password("retwis-demo", encoded)
    assert names["demo"] == "1"


def test_users_by_time_has_every_name_as_typed_and_nobody_joins_in_the_future(raw):
    seed()
    by_time = dict(raw.zrange("users_by_time", 0, -1, withscores=True))
    assert set(by_time) == {raw.hget(key, "username") for key in raw.keys("user:*")}
    assert all(0 < when <= time.time() for when in by_time.values())
    assert len(set(by_time.values())) > 50


def test_everybody_is_found_by_name(raw, monkeypatch):
    monkeypatch.setattr(seeding, "BATCH", 20)
    seed()
    assert filed(raw) == called(raw)
    assert len(filed(raw)) > 60  # some by two names


def test_most_have_a_name_to_be_called_by_and_say_something_and_all_may(raw):
    seed(users=200, posts=1, follows=1)
    users = [raw.hgetall(f"user:{uid}") for uid in range(1, 201)]
    names, bios = ([user[field] for user in users if field in user] for field in ("name", "bio"))
    assert 80 < len(names) < 160
    assert 100 < len(bios) < 180
    assert len(set(names)) > 70
    assert len(set(bios)) > 70
    for field, texts in (("name", names), ("bio", bios)):
        for text in texts:
            form = ProfileForm({"name": "", "bio": "", field: text})
            assert form.is_valid(), (text, form.errors)
            assert form.cleaned_data[field] == text
    assert set(users[0]) == {"username", "password", "auth"}  # the demo user's are left to whoever tries it


def test_every_follow_has_its_mirror_with_the_same_date(raw):
    seed()
    following = edges(raw, "following:")
    assert {(them, me): since for (me, them), since in following.items()} == edges(raw, "followers:")
    assert all(me != them for me, them in following)
    assert {uid for edge in following for uid in edge} <= set(range(1, 61))


def test_the_ranking_says_how_many_follow_each(raw, monkeypatch):
    monkeypatch.setattr(seeding, "BATCH", 20)
    seed()
    assert ranked(raw) == counted(raw)
    assert len(ranked(raw)) > 50


def test_nobody_follows_before_both_have_joined(raw):
    seed()
    since_when = joined(raw)
    for (me, them), since in edges(raw, "following:").items():
        assert max(since_when[me], since_when[them]) <= since <= time.time()


def test_posts_stand_in_their_authors_updates_and_nowhere_else(raw):
    seed()
    written = {(int(post["user_id"]), pid): float(pid) for pid, post in posts(raw).items()}
    assert edges(raw, "updates:") == written


def test_posts_are_numbered_in_the_order_of_their_time(raw):
    seed()
    times = [int(post["time"]) for _, post in sorted(posts(raw).items())]
    assert set(posts(raw)) == set(range(1, 301))
    assert times == sorted(times)
    assert times[-1] <= time.time()
    assert len(set(times)) > 250


def test_nobody_posts_before_they_have_joined(raw):
    seed()
    since_when = joined(raw)
    assert all(since_when[int(post["user_id"])] <= int(post["time"]) for post in posts(raw).values())


def test_posts_are_such_as_the_site_itself_would_take(raw):
    seed()
    for post in posts(raw).values():
        assert set(post) == {"user_id", "time", "body"}
        assert 1 <= len(post["body"]) <= 280
        assert post["body"] == " ".join(post["body"].splitlines()).strip()
    assert len({post["body"] for post in posts(raw).values()}) > 250


def test_a_few_are_followed_by_many_and_many_by_a_few(raw):
    seed(users=200, posts=10, follows=15)
    counts = sorted((raw.zcard(f"followers:{uid}") for uid in range(1, 201)), reverse=True)
    assert statistics.mean(counts[:2]) > 6 * statistics.median(counts)
    assert sum(counts[:20]) > 0.3 * sum(counts)
    assert len({raw.zcard(f"following:{uid}") for uid in range(1, 201)}) > 5


def test_some_write_much_more_than_others(raw):
    seed(users=100, posts=1000, follows=1)
    counts = sorted((raw.zcard(f"updates:{uid}") for uid in range(1, 101)), reverse=True)
    assert counts[0] > 5 * statistics.median(counts)


# ---- the same one every time


def community(raw):
    """What two seedings must share: everything but secrets."""
    found = everything(raw)
    del found["auths"]
    return {
        key: {"username": held["username"]} if key.startswith("user:") else held for key, held in sorted(found.items())
    }


def test_one_seed_makes_one_community(raw, monkeypatch):
    monkeypatch.setattr("timeline.demo.seeding.time", SimpleNamespace(time=lambda: 1_760_000_000.0))
    seed("--seed=7")
    first, secrets = community(raw), raw.hgetall("auths")
    raw.flushall()
    seed("--seed=7")
    assert community(raw) == first
    assert not raw.hgetall("auths").keys() & secrets.keys()


def test_another_seed_makes_another_community(raw):
    seed("--seed=7")
    names, follows, written = raw.hgetall("users"), edges(raw, "following:"), posts(raw)
    seed("--seed=8", "--flush", "--noinput")
    assert raw.hgetall("users").keys() & names.keys() != names.keys()
    assert edges(raw, "following:").keys() != follows.keys()
    bodies = {post["body"] for post in written.values()}
    assert len({post["body"] for post in posts(raw).values()} - bodies) > 250


# ---- small and strange numbers


def test_a_single_user_follows_nobody(raw):
    seed(users=1, posts=5, follows=40)
    assert raw.hgetall("users") == {"demo": "1"}
    assert raw.zrange("updates:1", 0, -1) == ["1", "2", "3", "4", "5"]
    assert raw.keys("follow*") == []
    assert not raw.exists("users_by_followers")


def test_nobody_follows_more_people_than_there_are(raw):
    seed(users=5, posts=3, follows=100)
    everybody = set(range(1, 6))
    assert edges(raw, "following:").keys() == {(me, them) for me in everybody for them in everybody - {me}}
    assert edges(raw, "followers:").keys() == edges(raw, "following:").keys()


@pytest.mark.parametrize(("users", "follows"), [(2, 1), (3, 1), (4, 3), (10, 9), (10, 5)])
def test_the_average_is_exact_in_small_communities_too(raw, users, follows):
    seed(users=users, posts=1, follows=follows)
    assert len(edges(raw, "following:")) == users * follows


def test_people_without_posts_and_follows(raw):
    seed(users=3, posts=0, follows=0)
    assert raw.hlen("users") == 3
    assert raw.get("next_post_id") == "0"
    assert set(raw.keys()) == {
        "next_user_id", "next_post_id", "users", "auths", "users_by_time", "users_by_name",
        "user:1", "user:2", "user:3",
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ("--users", "0"),
        ("--users=-3",),
        ("--users", "-3"),
        ("--users", ""),
        ("--users", "1.5"),
        ("--users", "٣"),
        ("--users", "1000000000000"),
        ("--posts", "x"),
        ("--posts", "-1"),
        ("--follows", "many"),
        ("--seed", "one"),
        ("--people", "3"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_written(raw, arguments):
    with pytest.raises(CommandError):
        call_command("seed", *arguments)
    assert raw.dbsize() == 0


def test_no_users_at_all_names_the_fix(raw):
    with pytest.raises(CommandError, match="--users 1"):
        call_command("seed", "--users=0")


# ---- a store that is not empty


def test_a_store_with_users_is_refused(raw, alice):
    before = everything(raw)
    with pytest.raises(CommandError, match="--flush"):
        seed()
    assert everything(raw) == before


def test_flush_deletes_the_sites_own_keys_and_no_others(raw, store, alice):
    sets = ("following:999", "followers:999", "updates:999", "outbox")
    lists = ("posts:999", "timeline")
    strings = ("lease:post:1:abc", "idem:999:token", "health")
    for key in sets:
        raw.zadd(key, {"1": 1})
    for key in lists:
        raw.rpush(key, "1")
    for key in strings:
        raw.set(key, "1")
    raw.hset("post:999", mapping={"user_id": "1", "time": "1", "body": "gone in a moment"})
    foreign = ["celery", "session:1", "posts_of_another_site", "users2", "my:user:1", "outbox:old", "timeline:old"]
    for key in foreign:
        raw.set(key, "not ours")
    seed("--flush", users=3, posts=2, follows=1)
    assert [raw.get(key) for key in foreign] == ["not ours"] * len(foreign)
    assert raw.hlen("users") == 3
    assert "alice" not in raw.hgetall("users")
    assert raw.exists(*sets, *lists, *strings, "post:999") == 0
    assert not raw.hexists("auths", alice.secret)


def test_after_a_flush_the_old_cookie_opens_nothing(raw, alice, browser):
    client = browser(alice)
    assert 'action="/logout/"' in client.get("/").content.decode()
    seed("--flush")
    assert 'action="/logout/"' not in client.get("/").content.decode()


@pytest.mark.parametrize("prefix", ["retwis:", "a*b:", "[ab]?:", "back\\slash:"])
def test_flush_with_a_prefix_deletes_only_what_has_it(raw, rights, monkeypatch, prefix):
    foreign = ["users", "user:1", "post:1", "other:users", "aXb:user:1", "aX:user:1", "bX:user:1", "backslash:user:1"]
    for key in foreign:
        raw.hset(key, "name", "not ours")
    monkeypatch.setattr(keys, "PREFIX", prefix)
    rights("resetkeys", *(f"~{keys.matching(pattern)}" for pattern in keys.ALL))
    raw.hset(f"{prefix}user:999", "username", "ours")
    raw.set(f"{prefix}celery", "not ours")
    seed("--flush", users=3, posts=2, follows=1)
    assert raw.exists(f"{prefix}user:999") == 0
    assert raw.get(f"{prefix}celery") == "not ours"
    assert [raw.hgetall(key) for key in foreign] == [{"name": "not ours"}] * len(foreign)
    assert raw.hlen(f"{prefix}users") == 3
    assert all(key.startswith(prefix) for key in set(raw.keys()) - set(foreign))


def test_flush_asks_on_a_terminal_and_deletes_nothing_without_a_yes(raw, alice, monkeypatch):
    before = everything(raw)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda question: "y")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        seed("--flush")
    assert everything(raw) == before
    monkeypatch.setattr("builtins.input", lambda question: "yes")
    seed("--flush")
    assert raw.hlen("users") == 60


def test_a_seeding_that_was_killed_counts_as_none(raw, monkeypatch):
    write = seeding.write

    def killed(store, batch):
        if any(step.key == "users" for step in batch):
            raise KeyboardInterrupt
        write(store, batch)

    monkeypatch.setattr(seeding, "BATCH", 20)
    monkeypatch.setattr(seeding, "write", killed)
    with pytest.raises(SystemExit):
        seed()
    assert raw.exists("users") == 0
    assert len(raw.keys("post:*")) > 100
    monkeypatch.setattr(seeding, "write", write)
    seed("--flush")
    assert raw.hlen("users") == 60
    assert len(raw.keys("post:*")) == 300


def test_a_smaller_seeding_does_not_mix_with_one_that_was_killed(raw, browser):
    """Refused or cleared away: leftover posts would lend their texts to new ones of the same number."""
    seed()
    raw.delete("users")
    try:
        seed(users=5, posts=3, follows=1)
    except CommandError:
        seed("--flush", users=5, posts=3, follows=1)
    assert raw.hlen("users") == raw.hlen("auths") == raw.zcard("users_by_time") == len(raw.keys("user:*")) == 5
    assert len(edges(raw, "following:")) == 5
    assert ranked(raw) == counted(raw)
    client = browser()
    client.post("/login/", DEMO_LOGIN)
    client.post("/post/", {"body": "Mine, and new"})
    assert raw.hget("post:4", "body") == "Mine, and new"
    assert raw.hget("post:4", "user_id") == "1"


# ---- a site on it


def test_the_next_user_and_the_next_post_come_after_the_seeded_ones(raw, store, browser):
    seed()
    assert register(store, "alice").user.uid == 61
    client = browser()
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    client.post("/post/", {"body": "Hello, everybody"})
    assert raw.hget("post:301", "body") == "Hello, everybody"
    assert raw.zrange("updates:61", 0, -1) == ["301"]


def test_the_demo_user_can_log_in_and_read_their_home(raw, browser):
    seed()
    client = browser()
    response = client.post("/login/", DEMO_LOGIN)
    assert response.status_code == 302
    assert client.cookies[settings.AUTH_COOKIE].value == raw.hget("user:1", "auth")
    page = client.get("/").content.decode()
    assert page.count("ago via web") == 20
    sources = {"1", *raw.zrange("following:1", 0, -1)}
    assert len(sources) > 1
    expected = sorted((pid for pid, post in posts(raw).items() if post["user_id"] in sources), reverse=True)
    assert Page(page).texts("p.body") == [raw.hget(f"post:{pid}", "body") for pid in expected[:20]]
    listed = [int(entry) for entry in raw.lrange("posts:1", 0, -1) if entry.isdigit() and entry != "0"]
    assert listed == expected


def test_the_global_timeline_shows_the_newest_posts_and_the_newest_users(raw, browser):
    seed()
    page = browser().get("/timeline/").content.decode()
    assert page.count("ago via web") == 50
    assert Page(page).texts("p.body") == [raw.hget(f"post:{pid}", "body") for pid in range(300, 250, -1)]
    assert all(f'href="/@{name}/"' in page for name in raw.zrevrange("users_by_time", 0, 9))
    assert [entry for entry in raw.lrange("timeline", 0, -1) if len(entry) < 4 and entry != "0"][:2] == ["300", "299"]


def test_every_profile_opens(raw, browser):
    seed()
    client = browser()
    client.post("/login/", DEMO_LOGIN)
    for uid in range(1, 61):
        name = raw.hget(f"user:{uid}", "username")
        for address in (f"/@{name}/", f"/@{name}/followers/", f"/@{name}/following/"):
            assert client.get(address).status_code == 200
        page = client.get(f"/@{name}/").content.decode()
        assert page.count("ago via web") == min(20, raw.zcard(f"updates:{uid}"))


def test_it_says_what_it_made_and_how_to_log_in(capsys):
    seed(users=3, posts=2, follows=1, verbosity=1)
    assert capsys.readouterr().out == "3 users and 2 posts. Log in as demo with the password retwis-demo\n"
