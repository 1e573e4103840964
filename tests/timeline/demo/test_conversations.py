"""`manage.py seed`: the community talks, and all of it is stored as the site's own writes store it."""

import re
from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.demo_community import seed, stored_posts
from tests.support.maintenance.doctor_report import doctor
from tests.support.protocols.conversations import assert_conversations_agree
from timeline.demo.seeding import Community, Plan
from timeline.demo.texts import FRESH_WITHIN, Writer, persona, talks_of


def threads(posts):
    """The sizes of threads with answers, by their first post."""
    sizes = Counter(int(post["root"]) for post in posts.values() if "root" in post)
    return {root: answers + 1 for root, answers in sizes.items()}


def test_doctor_finds_nothing_wrong(raw, capsys):
    seed(users=120, posts=1500, follows=8)
    assert doctor(capsys) == (0, {}, {})


def test_all_listings_follow_from_the_posts(raw):
    seed(posts=500)
    assert_conversations_agree(raw, "seeded")


def test_threads_have_two_to_nine_posts_which_answer_one_another(raw):
    seed(posts=1500)
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


def test_threads_have_tombstones_and_some_posts_are_edited(raw):
    seed(posts=2000)
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


def test_few_posts_have_many_likes_and_most_have_none_or_few(raw):
    seed(users=200, posts=2000)
    likes = sorted((int(post.get("likes", 0)) for post in stored_posts(raw).values()), reverse=True)
    assert likes[0] > 30
    assert likes[len(likes) // 2] <= 1
    assert sum(likes[:100]) > 0.3 * sum(likes)


def test_people_repost_and_quote_and_use_the_tag_of_the_week(raw):
    seed(posts=1000)
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
    steps = list(Community(Plan(users, posts, 5, number), "x").steps())
    of_posts = {
        int(step.key[5:]): step.fields["body"] for step in steps if step.key[:5] == "post:" and "body" in step.fields
    }
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
@settings(max_examples=12, deadline=None)
def test_no_sentence_stands_twice_within_fifty_posts_whatever_the_seed(users, number):
    assert list(repeated(bodies(users, 600, number))) == []
