"""The site on a store with the demo community."""

from django.conf import settings

from tests.support.demo_community import DEMO_LOGIN, seed, stored_posts
from tests.support.http.answers import Page
from tests.support.people import PASSWORD, register


def test_new_users_and_posts_get_the_next_ids(raw, store, browser):
    seed()
    assert register(store, "alice").user.uid == 61
    client = browser()
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    client.post("/post/", {"body": "Hello, everyone"})
    assert raw.hget("post:301", "body") == "Hello, everyone"
    assert raw.zrange("updates:61", 0, -1) == ["301"]


def test_the_demo_user_can_log_in_and_read_their_home(raw, browser):
    seed()
    client = browser()
    response = client.post("/login/", DEMO_LOGIN)
    assert response.status_code == 302
    assert client.cookies[settings.AUTH_COOKIE].value == raw.hget("user:1", "auth")
    page = client.get("/").content.decode()
    assert page.count("ago via web ·") == 20
    sources = {"1", *raw.zrange("following:1", 0, -1)}
    assert len(sources) > 1
    expected = sorted((pid for pid, post in stored_posts(raw).items() if post["user_id"] in sources), reverse=True)
    assert Page(page).texts("p.body") == [raw.hget(f"post:{pid}", "body") for pid in expected[:20]]
    listed = [int(entry) for entry in raw.lrange("posts:1", 0, -1) if entry.isdigit() and entry != "0"]
    assert listed == expected


def test_the_global_timeline_shows_the_newest_posts_and_the_newest_users(raw, browser):
    seed()
    page = browser().get("/timeline/").content.decode()
    assert page.count("ago via web ·") == 50
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
        assert page.count("ago via web ·") == min(20, raw.zcard(f"updates:{uid}"))
