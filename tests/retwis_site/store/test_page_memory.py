"""Cached parts of pages never show deleted posts, parts of other users' pages, or data older than five seconds."""

import re

import pytest
from django.middleware.csrf import _unmask_cipher_token

from retwis_site.store.local_cache import Memory
from tests.support.clock import Clock
from tests.support.http.page_text import page_of
from tests.support.memory import everything
from tests.support.people import register
from tests.support.stored_keys import publish
from timeline.posts import html as post_cards
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

READS = ["/", "/timeline/", "/@Alice/", "/@bob/"]


def page(client, url="/"):
    return client.get(url, headers={"X-Request-ID": "the-same-id"}).content.decode()  # error pages show it


def names_in(text):
    return re.findall(r'class="author"><a href="/@(\w+)/"', text)


@pytest.fixture
def followed(store, alice, bob, clock):
    """alice follows bob."""
    Follows(store).follow(alice.user.uid, bob.user.uid)


def delete_in_another_process(raw, uid, pid):
    """Delete a post as another process does: this process is not notified."""
    raw.hset(f"post:{pid}", mapping={"deleted": "1700000000", "body": ""})
    raw.zrem(f"updates:{uid}", pid)


# ---- deleted posts


@pytest.mark.parametrize("half", [False, True], ids=["deleted", "killed before it left its author's list"])
@pytest.mark.parametrize("url", ["/", "/timeline/", "/@bob/"])
def test_a_post_deleted_by_another_process_is_gone_at_once_for_its_author(
    browser, raw, store, followed, alice, bob, url, half
):
    pid = publish(raw, store, bob, "soon gone")
    for client in (browser(alice), browser(bob), browser(bob)):
        assert "soon gone" in page(client, url)
    delete_in_another_process(raw, bob.user.uid, pid)
    if half:
        raw.zadd(f"updates:{bob.user.uid}", {str(pid): pid})
    assert "soon gone" not in page(browser(bob), url)


@pytest.mark.parametrize("url", ["/", "/timeline/"])
def test_a_post_deleted_by_another_process_is_gone_for_everyone_within_five_seconds(
    browser, raw, store, followed, alice, bob, clock, url
):
    pid = publish(raw, store, bob, "soon gone")
    for client in (browser(alice), browser(bob)):
        page(client, url)
    delete_in_another_process(raw, bob.user.uid, pid)
    for _ in range(4):  # reading does not prolong its time
        clock.sleep(1)
        page(browser(alice), url)
    clock.sleep(1.1)
    for client in (browser(alice), browser()):
        assert "soon gone" not in page(client, url)


@pytest.mark.parametrize("url", READS)
def test_a_post_deleted_by_this_process_is_gone_for_everyone_at_once(browser, raw, store, followed, alice, bob, url):
    pid = publish(raw, store, bob, "soon gone")
    for client in (browser(alice), browser(bob), browser()):
        page(client, url)
    Posts(store).delete(bob.user.uid, pid)
    for client in (browser(alice), browser(bob), browser()):
        assert "soon gone" not in page(client, url)


def test_the_address_of_a_deleted_post_says_so_at_once(browser, raw, store, followed, alice, bob):
    pid = publish(raw, store, bob, "soon gone")
    for client in (browser(alice), browser(bob)):
        page(client)
        assert client.get(f"/@bob/{pid}/").status_code == 200
    delete_in_another_process(raw, bob.user.uid, pid)
    for client in (browser(alice), browser(bob)):
        assert client.get(f"/@bob/{pid}/").status_code == 410


# ---- changes


def test_following_and_unfollowing_are_shown_at_once(raw, store, alice, member, bob, carol, clock):
    publish(raw, store, bob, "from bob")
    publish(raw, store, carol, "from carol")
    seen = []
    for change in (Follows(store).follow, Follows(store).unfollow, Follows(store).follow):
        for login in (bob, carol):
            change(alice.user.uid, login.user.uid)
            seen.append(sorted(names_in(page(member))))
    both, either = ["bob", "carol"], (["bob"], ["carol"])
    assert seen == [either[0], both, either[1], [], either[0], both]


def test_unfollowing_in_another_process_is_shown_at_once(raw, store, followed, member, bob):
    """The home timeline still has the posts."""
    publish(raw, store, bob, "from bob")
    assert "from bob" in page(member)
    assert "from bob" in page(member)
    raw.zrem("following:1", 2)
    assert "from bob" not in page(member)
    raw.zadd("following:1", {"2": 1})
    assert "from bob" in page(member)


def test_new_counts_are_shown_at_once(browser, raw, followed, alice, bob):
    clients = {"/": browser(alice), "/@Alice/": browser(bob)}
    for url, client in clients.items():
        before = page(client, url)
        raw.zadd("followers:1", {"77": 1, "78": 1, "79": 1})
        assert page(client, url) != before
        assert re.search(r"\b3\b.{0,20}</?\w+>?\s*[Ff]ollowers", page(client, url), re.DOTALL)
        raw.zrem("followers:1", "77", "78", "79")


@pytest.mark.parametrize("url", ["/", "/timeline/"])
def test_a_changed_name_is_shown_on_posts_to_others_within_five_seconds(
    browser, raw, store, followed, member, bob, clock, url
):
    """Posts and names are cached apart, so their times do not add up."""
    publish(raw, store, bob, "from bob")
    page(member, url)
    raw.hset("user:2", "username", "Robert")
    raw.hset("users", "robert", "2")
    assert '<bdi class="me-name">@Robert</bdi>' in page(browser(bob), url)
    for _ in range(5):  # reading does not prolong its time
        publish(raw, store, bob, f"at {clock.now}")
        page(member, url)
        clock.sleep(1.01)
    assert set(names_in(page(member, url))) == {"Robert"}


# ---- pages of other users


def test_pages_with_the_same_posts_share_nothing_about_their_viewers(browser, raw, store, clock):
    people = [register(store, f"person{number}") for number in range(6)]
    for one in people:
        for other in people:
            if one is not other:
                Follows(store).follow(one.user.uid, other.user.uid)
    written = {login.user.uid: publish(raw, store, login, f"by {login.user.username}") for login in people}
    clients = {login.user.username: browser(login) for login in people}
    tokens = set()
    for _ in range(3):
        for login in people:
            me = login.user.username
            client = clients[me]
            others = [other for other in people if other is not login]
            mine, theirs = (f"/@{who.user.username}/{written[who.user.uid]}/" for who in (login, others[0]))
            for url in (
                "/",
                "/timeline/",
                f"/@{me}/",
                f"/@{others[0].user.username}/",
                f"{mine}more/",
                f"{theirs}more/",
            ):
                text = page(client, url)
                assert re.findall(r'class="me-name">@(\w+)<', text) == [me]
                buttons = re.findall(r'action="(/@\w+/\d+/delete/)"', text)
                assert buttons == ([f"{mine}delete/"] if url == f"{mine}more/" else []), url
                found = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', text))
                assert found
                assert {_unmask_cipher_token(token) for token in found} == {client.cookies["csrftoken"].value}
                assert not found & tokens
                tokens |= found
        visitor = page(browser(), "/timeline/")
        assert "me-name" not in visitor
        assert 'method="post"' not in visitor
        assert "csrfmiddlewaretoken" not in visitor
        assert len(names_in(visitor)) == len(people)


def test_typed_text_is_never_on_the_page_of_another_user(browser, alice, member, bob, clock):
    page(member)
    assert "far too long" in page_of(member.post("/post/", {"body": "far too long " * 30, "token": "mine"}), 422)
    draft = browser()
    draft.post("/post/", {"body": "typed before the login"})
    draft.cookies["auth"] = alice.secret
    assert "typed before the login" in page(draft)
    for other in (member, browser(bob)):
        assert not re.search("far too long|typed before|mine", page(other))


# ---- with and without caches


def without_tokens(text):
    return re.sub(r'(name="(?:csrfmiddlewaretoken|token)" value=")[\w-]+"', r'\1"', text)


def test_pages_are_the_same_with_and_without_caches(browser, raw, store, followed, alice, bob, carol, monkeypatch):
    """Each page with empty caches, and from the caches. The time stands still, since posts
    show their age."""
    monkeypatch.setattr(post_cards, "time", Clock())
    for number in range(70):
        publish(raw, store, (alice, bob, carol)[number % 3], f"post {number} <b> & \" ' {{{{ x }}}}")
    Follows(store).follow(bob.user.uid, alice.user.uid)
    urls = [
        *READS,
        "/?before=30",
        "/?before=1",
        "/@bob/?before=30",
        "/timeline/?before=15",
        "/@bob/2/",
        "/@bob/followers/",
    ]
    urls += ["/@Alice/following/", "/@Carol/", "/@nobody/", "/login/", "/register/", "/nothing/", "/@bob/9999/"]
    urls += ["/?before=x", "/settings/password/", "/post/"]
    for login in (None, alice, bob):
        client = browser(login) if login else browser()
        page(client)  # from now on there are no unread posts
        for url in urls:
            seen = []
            for _ in range(2):
                Memory.clear_all()
                seen += [without_tokens(page(client, url)) for _ in range(3)]
            assert len(set(seen)) == 1, url


# ---- bounds


def test_no_cache_grows_beyond_its_size(clock):
    for one in list(Memory.every):
        if not isinstance(one, Memory):  # a piece of memory of a fixed size
            continue
        for number in range(one.size + 100):
            one.put(("made up", number), "anything")
        assert one.size / 2 <= len(everything(one)) <= one.size
        assert one.get(("made up", one.size + 99)) == "anything"
        assert one.get(("made up", 99)) is None
        one.clear()


def test_some_finds_the_same_entries_as_get(clock):
    one = Memory(size=5, seconds=5)
    for number in range(4):
        one.put(number, str(number))
        clock.sleep(2)
    expected = {key: one.get(key) for key in range(6) if one.get(key) is not None}
    assert one.some(range(6)) == expected == {2: "2", 3: "3"}


def test_what_is_made_of_cached_values_ends_with_the_first_of_them(clock):
    parts, made = Memory(size=5, seconds=5), Memory(size=5, seconds=5)
    parts.put(1, "one")
    clock.sleep(3)
    parts.put(2, "two")
    assert parts.until([1, 3]) == 0  # one is missing
    assert made.put_until(12, "one two", parts.until([1, 2])) == "one two"
    clock.sleep(1.9)
    assert made.get(12) == "one two"
    clock.sleep(0.2)
    assert made.get(12) is None
