"""What is popular costs as much as what is not: a post with many likes, a thread with many posts."""

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import write_posts

pytestmark = pytest.mark.usefixtures("clock")

MOST_DIFFERENT = 200  # bytes: the numbers on the page have more digits


@pytest.fixture
def reading(member, bob, round_trips):
    """`reading(url)`: what alice's second visit sends, and the bytes of the page."""

    def read(url):
        Memory.clear_all()
        assert member.get(url).status_code == 200
        pages = []
        recorded = round_trips(lambda: pages.append(member.get(url).content))
        return recorded, len(pages[0])

    return read


def write_likes(raw, pid, number):
    for first in range(0, number, 1000):  # fakeredis is slow at long commands
        uids = range(1000 + first, 1000 + min(number, first + 1000))
        raw.zadd(f"liked_by:{pid}", dict.fromkeys(uids, 1_700_000_000))
    raw.hset(f"post:{pid}", "likes", number)


def write_thread(raw, size):
    """A thread of `size` posts by bob. Half of them answer the first post, the others answer one of those."""
    pipe = raw.pipeline(transaction=False)
    parents = [(pid, 1 if pid % 2 == 0 else pid - 1) for pid in range(2, size + 1)]
    for pid, parent in parents:
        links = {"reply_to": parent, "root": 1, "reply_to_user": 2, "above": "1" if parent == 1 else f"{parent} 1"}
        pipe.hset(f"post:{pid}", mapping={"user_id": 2, "time": 1_700_000_000, "body": "Hello", **links})
        if parent != 1:
            pipe.zadd(f"replies_to:{parent}", {pid: pid})
            pipe.hset(f"post:{parent}", "replies", 1)
    pipe.zadd("replies_to:1", {pid: pid for pid, parent in parents if parent == 1})
    pipe.zadd("thread:1", {pid: pid for pid, _ in parents})
    pipe.hset("post:1", "replies", size // 2)
    pipe.execute()


def test_a_post_with_100_000_likes_is_read_like_one_with_a_single_like(reading, raw):
    write_posts(raw, 2, [1])
    raw.zadd("following:1", {2: 1})
    urls = ("/@bob/1/", "/", "/@bob/")
    write_likes(raw, 1, 1)
    with_one = [reading(url) for url in urls]
    write_likes(raw, 1, 100_000)
    for url, (few, small) in zip(urls, with_one, strict=True):
        many, large = reading(url)
        assert many.commands == few.commands
        assert small < large <= small + MOST_DIFFERENT


def test_a_thread_of_10_000_posts_opens_in_the_round_trips_of_one_of_ten(reading, raw):
    write_posts(raw, 2, [1])
    write_thread(raw, 10)
    ten, _ = reading("/@bob/1/")
    write_thread(raw, 1000)
    _, large = reading("/@bob/1/")
    write_thread(raw, 10_000)
    many, largest = reading("/@bob/1/")
    later, its_size = reading("/@bob/1/?after=8000")
    assert len(ten.round_trips) == len(many.round_trips) == len(later.round_trips) == 1
    assert largest <= large + MOST_DIFFERENT
    assert its_size <= large * 1.1
