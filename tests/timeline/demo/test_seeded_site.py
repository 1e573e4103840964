"""The site on a store with the demo community."""

from django.conf import settings

from tests.support.demo_community import DEMO_LOGIN, stored_posts
from tests.support.http.answers import Page
from tests.support.people import PASSWORD, register


def with_quoted(post, posts):
    """The texts on the card of a post."""
    return [post["body"], *(posts[int(post[field])]["body"] for field in ("quote",) if field in post)]


def test_new_users_and_posts_get_the_next_ids(raw, seeded, store, client):
    assert register(store, "alice").user.uid == 61
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    client.post("/post/", {"body": "Hello, everyone"})
    assert raw.hget("post:301", "body") == "Hello, everyone"
    assert raw.zrange("updates:61", 0, -1) == ["301"]


def test_the_demo_user_can_log_in_and_read_their_home(raw, seeded, client):
    assert client.post("/login/", DEMO_LOGIN).status_code == 302
    assert raw.hget("auths", client.cookies[settings.AUTH_COOKIE].value) == "1"
    page = client.get("/").content.decode()
    assert page.count("<article") == 20
    sources = {"1", *raw.zrange("following:1", 0, -1)}
    assert len(sources) > 1
    posts = {pid: post for pid, post in stored_posts(raw).items() if "deleted" not in post}
    expected = sorted((pid for pid, post in posts.items() if post["user_id"] in sources), reverse=True)
    listed = [int(entry) for entry in raw.lrange("posts:1", 0, -1) if entry.isdigit() and entry != "0"]
    assert listed == expected
    shown = [posts[int(posts[pid].get("repost_of", pid))] for pid in expected]
    assert set(Page(page).texts("p.body")) <= {text for post in shown for text in with_quoted(post, posts)}


def test_the_global_timeline_shows_the_newest_posts_and_the_newest_users(raw, seeded, browser):
    page = browser().get("/timeline/").content.decode()
    assert page.count("<article") == 20
    posts = stored_posts(raw)
    newest = [post for _, post in sorted(posts.items(), reverse=True) if post.get("body")]
    assert Page(page).texts("p.body") == [text for post in newest[:20] for text in with_quoted(post, posts)]
    assert all(f'href="/@{name}/"' in page for name in raw.zrevrange("users_by_time", 0, 9))
    assert [entry for entry in raw.lrange("timeline", 0, -1) if len(entry) < 4 and entry != "0"][:2] == ["300", "299"]


def test_every_profile_opens(raw, seeded, client):
    client.post("/login/", DEMO_LOGIN)
    for uid in range(1, 61):
        name = raw.hget(f"user:{uid}", "username")
        for address in (f"/@{name}/", f"/@{name}/followers/", f"/@{name}/following/"):
            assert client.get(address).status_code == 200
        page = client.get(f"/@{name}/").content.decode()
        own = [raw.hgetall(f"post:{pid}") for pid in raw.zrange(f"updates:{uid}", 0, -1)]
        assert page.count("<article") == min(20, sum(post.get("reply_to_user") in {None, str(uid)} for post in own))
