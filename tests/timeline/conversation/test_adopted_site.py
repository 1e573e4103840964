"""Conversation on an adopted database of the official Retwis: with counted ids, and with ids from the time."""

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from retwis_site.store.snowflake import SMALLEST
from tests.support.command_output import doctor
from tests.support.maintenance.official_database import AMELIA, BOB, CAROL, OfficialDatabase
from tests.support.protocols.conversations import assert_conversations_agree

pytestmark = pytest.mark.indexed

TEXTS = ["Hello #Redis", "Is @Amelia there?", "a third one"]


@pytest.fixture(params=["incr", "snowflake"])
def people(request, raw, browser, settings):
    """The clients of Amelia, bob and Carol. Posts 1 and 3 are bob's, 2 is Carol's; Amelia follows both."""
    php = OfficialDatabase(raw)
    for name in ("Amelia", "bob", "Carol"):
        php.register(name, f"the password of {name}")
    for them in (BOB, CAROL):
        php.follow(AMELIA, them)
    for uid, text in zip((BOB, CAROL, BOB), TEXTS, strict=True):
        php.post(uid, text)
    call_command("adopt", verbosity=0)
    settings.POST_IDS = request.param
    clients = {}
    for uid in (AMELIA, BOB, CAROL):
        clients[uid] = browser()
        clients[uid].cookies[settings.AUTH_COOKIE] = php.secret(uid)
    return clients


def publish(client, raw, **fields):
    """Returns the id of the new post."""
    before = set(raw.keys("post:*"))
    assert client.post("/post/", {"token": f"t{len(before)}", **fields}).status_code == 302
    [key] = {*raw.keys("post:*")} - before
    return int(key.partition(":")[2])


def html(client, address):
    Memory.clear_all()
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def test_old_posts_have_their_tags(people, raw):
    assert raw.zrange("tag:redis", 0, -1) == ["1"]
    assert TEXTS[0].partition("#")[0] in html(people[AMELIA], "/tags/redis/")


def test_people_talk_about_old_posts(people, raw, store, capsys, settings):
    amelia, bob, carol = people[AMELIA], people[BOB], people[CAROL]
    reply = publish(amelia, raw, body="well, @bob #redis", reply_to=1)
    assert (reply >= SMALLEST) == (settings.POST_IDS == "snowflake")
    below = publish(bob, raw, body="and so on", reply_to=reply)
    quote = publish(carol, raw, body="look", quote=1)
    assert raw.zrange("thread:1", 0, -1) == sorted(map(str, (reply, below)), key=int)
    page = html(carol, "/@bob/1/")
    assert [f'id="post-{pid}"' in page for pid in (1, reply, below)] == [True] * 3
    assert "Hello" in html(amelia, f"/@Carol/{quote}/")
    for action in ("like", "repost", "bookmark"):
        assert amelia.post(f"/@bob/1/{action}/").status_code == 302
        assert carol.post(f"/@Amelia/{reply}/{action}/").status_code == 302
    assert raw.hmget("post:1", "likes", "reposts", "replies", "quotes") == ["1"] * 4
    assert [name.partition(":")[0] for name in raw.zrevrange("notices:2", 0, -1)].count("reply") == 1
    assert bob.post("/@bob/1/edit/", {"body": "Hello #Valkey"}).status_code == 302
    assert [raw.zrange(f"tag:{tag}", 0, -1) for tag in ("redis", "valkey")] == [[str(reply)], ["1"]]
    assert bob.post("/@bob/1/delete/").status_code == 302
    drain(store, "a worker")
    assert raw.hget("post:1", "deleted")
    assert raw.zcard("thread:1") == 2
    assert f'id="post-{reply}"' in bob.get("/@bob/1/").content.decode()
    assert_conversations_agree(raw, "adopted")
    assert doctor(capsys)[:2] == (0, {})


def test_what_was_done_can_be_undone(people, raw, store, capsys):
    amelia = people[AMELIA]
    for action in ("like", "repost", "bookmark"):
        amelia.post(f"/@Carol/2/{action}/")
        amelia.post(f"/@Carol/2/un{action}/")
    drain(store, "a worker")
    assert raw.hmget("post:2", "likes", "reposts") == [None, None]
    assert not raw.exists("likes:1", "reposts:1", "bookmarks:1", "notices:3")
    assert doctor(capsys)[:2] == (0, {})
