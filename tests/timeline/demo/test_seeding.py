"""`manage.py seed`: the stored data of the demo community."""

import re
import statistics
import sys
import time
import tracemalloc
from collections import Counter
from itertools import chain
from random import Random
from types import SimpleNamespace

import pytest
from django.contrib.auth.hashers import check_password
from django.core.management import load_command_class
from hypothesis import given, settings, strategies as st

from accounts.settings.views import ProfileForm
from retwis_site.store.kinds import kind_of
from tests.support.command_output import doctor
from tests.support.demo_community import DEMO_LOGIN, join_dates, members, seed, stored_posts
from tests.support.stored_keys import everything
from tests.support.stores.seam import examples
from timeline.demo import seeding
from timeline.demo.seeding import Community, Plan
from timeline.demo.texts import DEMO_BIO, FRESH_WITHIN, Writer, persona, talks_of
from timeline.posts.composer import normalised


def test_the_numbers_are_exactly_those_asked_for(raw):
    seed(users=60, posts=300, follows=8)
    assert raw.hlen("users") == raw.hlen("auths") == raw.zcard("users_by_time") == len(raw.keys("user:*")) == 60
    assert raw.get("next_user_id") == "60"
    assert len(stored_posts(raw)) == 300
    assert raw.get("next_post_id") == "300"
    assert len(members(raw, "following:")) == 60 * 8


def test_the_default_is_a_thousand_users():
    options = load_command_class("timeline", "seed").create_parser("manage.py", "seed").parse_args([])
    assert (options.users, options.posts, options.follows) == (1000, 20_000, 40)


def test_the_keys_are_those_of_the_key_table(raw):
    seed()
    stored = raw.keys()
    assert {key: raw.type(key) for key in stored} == {key: kind_of(key).type for key in stored}
    assert all(re.fullmatch(r"[a-z_]+(:[1-9][0-9]*)?|tag:\w+|posting(s|_bits)(:[0-9]+){2}", key) for key in stored)
    assert {raw.ttl(key) for key in stored} == {-1}


def test_every_user_has_a_name_a_secret_and_the_shared_password(raw, seeded):
    names = raw.hgetall("users")
    users = {uid: raw.hgetall(f"user:{uid}") for uid in names.values()}
    assert set(users) == {str(uid) for uid in range(1, 61)}
    assert all(set(user) - {"name", "bio", "noticed"} == {"username", "password", "auth"} for user in users.values())
    assert names == {user["username"].lower(): uid for uid, user in users.items()}
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,30}", user["username"]) for user in users.values())
    assert raw.hgetall("auths") == {user["auth"]: uid for uid, user in users.items()}
    assert all(re.fullmatch("[0-9a-f]{32}", user["auth"]) for user in users.values())
    (encoded,) = {user["password"] for user in users.values()}
    assert check_password("retwis-demo", encoded)
    assert names["demo"] == "1"


def test_users_by_time_has_every_name_as_typed_and_no_future_date(raw, seeded):
    by_time = dict(raw.zrange("users_by_time", 0, -1, withscores=True))
    assert set(by_time) == {raw.hget(key, "username") for key in raw.keys("user:*")}
    assert all(0 < when <= time.time() for when in by_time.values())
    assert len(set(by_time.values())) > 50


def test_most_users_have_a_valid_display_name_and_bio(raw):
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
    assert "name" not in users[0]  # the demo user


def test_a_follow_comes_after_both_registrations(raw, seeded):
    registered = join_dates(raw)
    for (me, them), since in members(raw, "following:").items():
        assert max(registered[me], registered[them]) <= since <= time.time()


def test_posts_are_numbered_in_the_order_of_their_time(raw, seeded):
    times = [int(post["time"]) for _, post in sorted(stored_posts(raw).items())]
    assert set(stored_posts(raw)) == set(range(1, 301))
    assert times == sorted(times)
    assert times[-1] <= time.time()
    assert len(set(times)) > 250


def test_a_post_comes_after_the_registration_of_its_author(raw, seeded):
    registered = join_dates(raw)
    assert all(registered[int(post["user_id"])] <= int(post["time"]) for post in stored_posts(raw).values())


def test_every_post_is_one_that_the_form_accepts(raw, seeded):
    posts = stored_posts(raw).values()
    written = [post["body"] for post in posts if "repost_of" not in post and "deleted" not in post]
    for body in written:
        assert 1 <= len(body) <= 280
        assert body == normalised(body)
    assert len(set(written)) > 0.95 * len(written) > 200
    assert any("\n" in body for body in written)


def test_a_few_users_have_many_followers_and_many_have_a_few(raw):
    seed(users=200, posts=10, follows=15)
    counts = sorted((raw.zcard(f"followers:{uid}") for uid in range(1, 201)), reverse=True)
    assert statistics.mean(counts[:2]) > 6 * statistics.median(counts)
    assert sum(counts[:20]) > 0.3 * sum(counts)
    assert len({raw.zcard(f"following:{uid}") for uid in range(1, 201)}) > 5


def test_some_users_write_many_more_posts_than_others(raw):
    seed(users=100, posts=1000, follows=1)
    counts = sorted((raw.zcard(f"updates:{uid}") for uid in range(1, 101)), reverse=True)
    assert counts[0] > 5 * statistics.median(counts)


# ---- the same seed gives the same community


def community(raw):
    """The stored data without passwords and secrets, which are random."""
    stored = everything(raw)
    del stored["auths"]
    return {
        key: {"username": value["username"]} if key.startswith("user:") else value
        for key, value in sorted(stored.items())
    }


def test_the_same_seed_gives_the_same_community_also_in_many_parts(raw, monkeypatch):
    monkeypatch.setattr("timeline.demo.seeding.time", SimpleNamespace(time=lambda: 1_760_000_000.0))
    seed("--seed=7")
    first, secrets = community(raw), raw.hgetall("auths")
    raw.flushall()
    monkeypatch.setattr(seeding, "TOGETHER", 7)
    seed("--seed=7")
    assert community(raw) == first
    assert not raw.hgetall("auths").keys() & secrets.keys()


def test_another_seed_gives_another_community(raw):
    seed("--seed=7")
    names, follows, written = raw.hgetall("users"), members(raw, "following:"), stored_posts(raw)
    seed("--seed=8", "--flush", "--noinput")
    assert raw.hgetall("users").keys() & names.keys() != names.keys()
    assert members(raw, "following:").keys() != follows.keys()
    bodies = {post.get("body") for post in written.values()}
    assert len({post.get("body") for post in stored_posts(raw).values()} - bodies) > 200


# ---- small numbers


def test_a_round_trip_has_at_most_90_000_fields_and_members():
    """The server works on all of them before it has read the last: with a million the command waits too long."""
    community = Community(Plan(1500, 0, 200, 1), "x")
    entries = [sum(len(content) for _, content in some) for some in community]
    assert max(entries) <= 90_000 < sum(entries)


def test_the_number_of_batches_is_estimated():
    """The progress bar shows it."""
    community = Community(Plan(300, 3000, 10, 1), "x")
    assert 0.7 < len(list(community)) / community.steps() < 1.3


def test_what_is_written_is_not_kept(raw, monkeypatch):
    """30,000 users and 300,000 posts took 1.2 GB."""
    written, kept = [], []

    def references(contents):
        return [sys.getrefcount(one) for one in contents]

    [of_this_test] = references([{}])  # the list, the loop and the call

    def write(store, run, batch):
        written.extend(content for _, content in batch)
        kept.append(sum(references(written)) - len(written) * of_this_test)

    monkeypatch.setattr(seeding, "BATCH", 20)
    monkeypatch.setattr(seeding, "write", write)
    seed()
    assert max(kept) <= 3 * seeding.BATCH < len(written)


def test_a_follow_takes_few_bytes_until_all_are_written(monkeypatch):
    """Three million took 370 MB."""
    monkeypatch.setattr(seeding, "BATCH", 20)
    tracemalloc.start()
    for _ in Community(Plan(400, 0, 150, 1), "x"):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400 * 150 * 60


def test_a_single_user_follows_no_one(raw):
    seed(users=1, posts=5, follows=40)
    assert raw.hgetall("users") == {"demo": "1"}
    assert raw.zrange("updates:1", 0, -1) == ["1", "2", "3", "4", "5"]
    assert raw.keys("follow*") == []
    assert not raw.exists("users_by_followers")


def test_a_user_follows_at_most_all_other_users(raw):
    seed(users=5, posts=3, follows=100)
    everyone = set(range(1, 6))
    assert members(raw, "following:").keys() == {(me, them) for me in everyone for them in everyone - {me}}
    assert members(raw, "followers:").keys() == members(raw, "following:").keys()


@pytest.mark.parametrize(("users", "follows"), [(2, 1), (3, 1), (4, 3), (10, 9), (10, 5)])
def test_the_average_is_exact_in_a_small_community(raw, users, follows):
    seed(users=users, posts=1, follows=follows)
    assert len(members(raw, "following:")) == users * follows


def test_a_community_may_have_no_posts_and_no_follows(raw):
    seed(users=3, posts=0, follows=0)
    assert raw.hlen("users") == 3
    assert raw.get("next_post_id") == "0"
    assert set(raw.keys()) == {
        "schema", "next_user_id", "next_post_id", "users", "auths", "users_by_time", "users_by_name",
        "skeletons", "user:1", "user:2", "user:3",
    }  # fmt: skip


# ---- `manage.py seed`: the community talks, and all of it is stored as the site's own writes store it.


def threads(posts):
    """The sizes of threads with answers, by their first post."""
    sizes = Counter(int(post["root"]) for post in posts.values() if "root" in post)
    return {root: answers + 1 for root, answers in sizes.items()}


def test_doctor_finds_nothing_wrong(raw, capsys, monkeypatch):
    monkeypatch.setattr(seeding, "BATCH", 20)
    seed(users=100, posts=800)
    assert doctor(capsys) == (0, {}, {})


def test_threads_have_two_to_nine_posts_which_answer_one_another(raw, talkative):
    posts = stored_posts(raw)
    sizes = threads(posts)
    assert len(sizes) > 40
    assert set(sizes.values()) <= set(range(2, 10))
    assert max(sizes.values()) > 6
    for post in posts.values():
        if "reply_to" in post:
            parent = posts[int(post["reply_to"])]
            assert int(post["time"]) >= int(parent["time"])
            assert post["root"] == parent.get("root", post["reply_to"])
            assert post["above"].split() == [post["reply_to"], *parent.get("above", "").split()]
            assert post["reply_to_user"] == parent["user_id"] != post["user_id"]


def test_threads_have_tombstones_and_some_posts_are_edited(raw, talkative):
    posts = stored_posts(raw)
    tombstones = {pid: post for pid, post in posts.items() if "deleted" in post}
    assert tombstones
    for pid, post in tombstones.items():
        assert post["body"] == ""
        assert raw.zcard(f"replies_to:{pid}") > 0
        assert raw.ttl(f"post:{pid}") == -1
    edited = {pid: post for pid, post in posts.items() if "edited" in post}
    assert len(edited) > 5
    for pid, post in edited.items():
        texts = raw.hgetall(f"edits:{pid}")
        assert sorted(map(int, texts)) == [int(post["time"]), int(post["edited"])]
        assert texts[post["edited"]] == post["body"] != texts[post["time"]]


def test_the_first_answers_of_a_thread_are_unlike_one_another():
    rng = Random(1)
    writer, given = Writer(rng), []
    talk, _ = writer.question(talks_of(persona(rng), "en"))
    for _ in talk.answers:
        writer.answer(talk, given)
    assert sorted(given) == sorted(talk.answers)


def test_few_posts_have_many_likes_and_most_have_none_or_few(raw, talkative):
    likes = sorted((int(post.get("likes", 0)) for post in stored_posts(raw).values()), reverse=True)
    assert likes[0] > 30
    assert likes[len(likes) // 2] <= 1
    assert sum(likes[:100]) > 0.3 * sum(likes)


def test_people_repost_and_quote_and_use_the_tag_of_the_week(raw, talkative):
    posts = stored_posts(raw).values()
    assert sum("repost_of" in post for post in posts) > 20
    assert sum("quote" in post for post in posts) > 10
    assert raw.zcard("tag:slowsunday") > 3


# ---- no sentence twice within fifty posts


def spoken(body):
    """The sentences of a text, as a reader sees them."""
    parts = re.split(r"(?<=[.!?…؟।])\s+|(?<=。)|\n\n", re.sub(r"[@#]\w+", "", body).lower())
    return {part.strip(" .!?…؟।。\n") for part in parts if any(char.isalpha() for char in part)}


def bodies(users, posts, number):
    writes = chain.from_iterable(Community(Plan(users, posts, 5, number), "x"))
    of_posts = {int(key[5:]): fields["body"] for key, fields in writes if key[:5] == "post:" and "body" in fields}
    return [body for _, body in sorted(of_posts.items())]


def repeated(texts):
    last = {}
    for at, body in enumerate(texts):
        for sentence in spoken(body):
            if at - last.get(sentence, -FRESH_WITHIN - 1) < FRESH_WITHIN:
                yield sentence, at
            last[sentence] = at


def test_no_sentence_stands_twice_within_fifty_posts_of_the_default_community():
    assert list(repeated(bodies(1000, 5000, 1))) == []


@given(st.integers(1, 400), st.integers(0, 10**6))
@settings(max_examples=examples(40), deadline=None)
def test_no_sentence_stands_twice_within_fifty_posts_whatever_the_seed(users, number):
    assert list(repeated(bodies(users, 600, number))) == []


# ---- `manage.py seed`: what the demo user finds.


def unread(raw):
    rows = raw.zrange("notices:1", 0, -1, withscores=True)
    noticed = int(raw.hget("user:1", "noticed"))
    return [(member.split(":"), when) for member, when in rows if when > noticed and member != "up_to_here"]


def test_the_demo_user_has_a_bio_and_bookmarks(raw, seeded):
    assert raw.hget("user:1", "bio") == DEMO_BIO
    assert len(DEMO_BIO) <= 160
    kept = raw.zrange("bookmarks:1", 0, -1, withscores=True)
    assert len(kept) == 8
    posts = stored_posts(raw)
    assert all(int(posts[int(pid)]["time"]) <= when <= time.time() for pid, when in kept)
    assert all(posts[int(pid)]["user_id"] != "1" for pid, _ in kept)


def test_seven_notifications_of_all_kinds_are_unread_and_minutes_old(raw):
    for number in (1, 2):
        seed(f"--seed={number}", "--flush", "--noinput", users=60 * number, posts=600 * number)
        rows = unread(raw)
        assert len(rows) == 7
        assert {kind for (kind, _, _), _ in rows} == {"follow", "like", "repost", "reply", "quote", "mention"}
        assert all(time.time() - 1300 < when < time.time() for _, when in rows)
        assert raw.zscore("notices:1", "up_to_here") == int(raw.hget("user:1", "noticed"))
        assert raw.zcard("notices:1") > 8  # older ones too


def test_the_newest_thread_of_the_demo_user_has_answers_and_a_tombstone(raw, seeded):
    posts = stored_posts(raw)
    first = max(pid for pid, post in posts.items() if post["user_id"] == "1" and "root" not in post)
    below = [posts[int(pid)] for pid in raw.zrange(f"thread:{first}", 0, -1)]
    assert len(below) == 6
    assert ["deleted" in post for post in below].count(True) == 1
    assert "1" in {post["user_id"] for post in below}


def test_the_site_says_that_seven_are_new(seeded, browser):
    client = browser()
    client.post("/login/", DEMO_LOGIN)
    assert "(7)" in client.get("/").content.decode()
    assert client.get("/notifications/").status_code == 200
    assert client.get("/bookmarks/").status_code == 200


def test_a_small_community_has_no_showcase(raw):
    seed(users=11, posts=100)
    assert not raw.exists("notices:1", "bookmarks:1")
