"""The buttons of a card: what they do, what the next page shows on every worker, and where they lead."""

import re

import pytest

from accounts.signing_in.middleware import MOST_CHANGED, POSTS_CHANGED
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import page_of
from tests.support.stored_posts import write_posts, write_tag
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople


@pytest.fixture
def posts(store, alice, bob, raw):
    """Posts 1 to 3 by bob, whom alice does not follow."""
    write_posts(raw, 2, [1, 2, 3])
    Memory.clear_all()


def row(answer, pid):
    """The row of actions of a card: its words, and its HTML."""
    found = re.search(rf'id="post-{pid}">.*?(<div class="acts">.*?</div>)', answer.content.decode(), re.DOTALL)
    assert found is not None
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split()), found[1]


def choices(client):
    """What the page behind the link to repost offers."""
    page = client.get("/@bob/3/repost-or-quote/", headers={"referer": "http://testserver/timeline/"}).content.decode()
    assert '<input type="hidden" name="next" value="/timeline/">' in page
    return re.findall(r'(?:formaction|href)="([^"]*)"', page.partition('id="more"')[2].partition("</form>")[0])


def test_a_like_and_its_undoing(posts, member, raw):
    assert 'formaction="/@bob/3/like/" aria-pressed="false"' in row(member.get("/@bob/"), 3)[1]
    member.post("/@bob/3/like/")
    assert raw.zrange("likes:1", 0, -1) == ["3"]
    assert raw.zrange("liked_by:3", 0, -1) == ["1"]
    words, html = row(member.get("/@bob/"), 3)
    assert "Like 1" in words
    assert 'formaction="/@bob/3/unlike/" aria-pressed="true"' in html
    member.post("/@bob/3/unlike/")
    assert not raw.exists("likes:1", "liked_by:3")
    words, html = row(member.get("/@bob/"), 3)
    assert "Like 1" not in words
    assert 'aria-pressed="false"' in html


def test_a_bookmark_and_its_undoing(posts, member, raw):
    member.post("/@bob/3/bookmark/")
    assert raw.zrange("bookmarks:1", 0, -1) == ["3"]
    assert 'formaction="/@bob/3/unbookmark/" aria-pressed="true"' in row(member.get("/@bob/"), 3)[1]
    member.post("/@bob/3/unbookmark/")
    assert not raw.exists("bookmarks:1")


def test_a_repost_and_its_undoing(browser, posts, member, raw):
    assert browser().get("/@bob/3/repost-or-quote/")["Location"].startswith("/login/?next=")
    assert '<a class="repost" href="/@bob/3/repost-or-quote/"><span>Repost</span>' in row(member.get("/@bob/"), 3)[1]
    assert choices(member) == ["/@bob/3/repost/", "/compose/?quote=3"]
    member.post("/@bob/3/repost/")
    assert raw.zrange("reposted_by:3", 0, -1) == ["1"]
    # Alice does not follow bob: her repost has brought it here.
    assert "Reposted 1" in row(member.get("/"), 3)[0]
    assert choices(member) == ["/@bob/3/unrepost/", "/compose/?quote=3"]
    member.post("/@bob/3/unrepost/")
    assert not raw.exists("reposts:1", "reposted_by:3")
    assert "post-3" not in member.get("/").content.decode()
    assert "Reposted" not in row(member.get("/@bob/"), 3)[0]


@pytest.mark.parametrize("page", ["/@bob/", "/timeline/", "/@bob/3/"])
def test_a_worker_that_has_cached_the_post_shows_ones_own_action_at_once(browser, posts, alice, raw, page):
    client, visitor = browser(alice), browser()
    client.get(page)
    visitor.get(page)  # this process caches the post
    client.cookies[POSTS_CHANGED] = "3"  # as the answer of another worker has set it
    raw.zadd("likes:1", {3: 1_800_000_000})
    raw.hset("post:3", "likes", 1)
    words, html = row(client.get(page), 3)
    assert "Like 1" in words
    assert 'aria-pressed="true"' in html


@pytest.mark.parametrize("as_what", ["reply_to", "quote"])
def test_the_next_pages_read_the_post_that_an_own_reply_or_quote_names_and_do_so_after_its_deletion(
    posts, member, raw, as_what
):
    member.post("/post/", {"body": "mine", "token": "t", as_what: 3})
    assert member.cookies.pop(POSTS_CHANGED).value == "3"
    [mine] = raw.zrange("updates:1", 0, -1)
    member.post(f"/@alice/{mine}/delete/")
    assert member.cookies.pop(POSTS_CHANGED).value == "3"
    member.post("/post/", {"body": "it answers nothing", "token": "u"})
    assert POSTS_CHANGED not in member.cookies


def test_the_page_of_another_viewer_shows_the_number_and_not_the_state(browser, posts, alice, bob):
    browser(alice).post("/@bob/3/like/")
    words, html = row(browser(bob).get("/@bob/"), 3)
    assert "Like 1" in words
    assert 'aria-pressed="false"' in html


def test_a_visitor_sees_the_numbers_and_no_button(browser, posts, raw):
    raw.hset("post:3", mapping={"likes": 4, "replies": 2})
    words, html = row(browser().get("/@bob/"), 3)
    assert words == "Reply 2 Likes 4"
    assert "<button" not in html
    assert 'href="/@bob/3/#reply"' in html
    assert 'id="act"' not in browser().get("/@bob/").content.decode()


def test_the_script_gets_the_page_of_the_post_which_has_the_same_row(browser, posts, alice):
    answer = browser(alice).post("/@BOB/3/like/", headers={"HX-Request": "true"}, follow=True)
    assert answer.redirect_chain == [("/@bob/3/#post-3", 302)]
    assert 'class="like" form="act" formaction="/@bob/3/unlike/" aria-pressed="true"' in row(answer, 3)[1]


def test_a_page_has_one_form_for_all_actions(browser, posts, alice):
    page = browser(alice).get("/@bob/").content.decode()
    assert page.count('<form id="act" method="post">') == 1
    assert page.count('form="act" formaction="/@bob/') >= 6
    assert 'href="/@bob/3/more/"' in page
    assert page.count("csrfmiddlewaretoken") < 6


@pytest.mark.parametrize("named", ["", "x", "0", "3-" * 500, "-3-", "3-x-2", "9" * 400])
def test_a_cookie_may_hold_anything(posts, member, named, round_trips):
    member.get("/@bob/")
    member.cookies[POSTS_CHANGED] = named
    recorded = round_trips(lambda: member.get("/@bob/"))
    assert len([command for command in recorded.commands if command[1].startswith("post:")]) <= MOST_CHANGED


def test_the_page_of_a_post_mutes_its_thread_and_says_so(browser, posts, member, raw):
    raw.hset("post:3", mapping={"reply_to": 2, "root": 1})
    assert 'formaction="/@bob/3/mute/">Mute this thread<' in member.get("/@bob/3/").content.decode()
    member.post("/@bob/3/mute/")
    assert raw.zrange("muted_threads:1", 0, -1) == ["1"]
    for pid in (1, 3):
        page = member.get(f"/@bob/{pid}/").content.decode()
        assert "You get no notifications about this thread." in page
        assert f'formaction="/@bob/{pid}/unmute/"' in page
    assert "Unmute this thread" not in member.get("/@bob/2/").content.decode()
    assert "this thread" not in browser().get("/@bob/3/").content.decode()


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        ("mute", "You get no notifications about this thread."),
        ("unmute", "You get notifications about this thread again."),
    ],
)
def test_a_menu_on_another_page_tells_what_it_did_with_the_thread(posts, member, deed, told):
    """A card shows nothing of it."""
    answer = member.post(f"/@bob/3/{deed}/", {"next": "/@bob/"}, follow=True)
    assert answer.redirect_chain == [("/@bob/#post-3", 302)]
    assert told in answer.content.decode()
    assert told not in member.get("/@bob/").content.decode()


def test_the_page_of_a_post_leads_to_the_people_who_acted_on_it(browser, posts, raw):
    raw.hset("post:3", mapping={"likes": 4, "reposts": 1})
    page = browser().get("/@bob/3/").content.decode()
    assert 'href="/@bob/3/likes/"><strong>4</strong> likes<' in page
    assert 'href="/@bob/3/reposts/"><strong>1</strong> repost<' in page
    assert "/likes/" not in browser().get("/@bob/2/").content.decode()


def test_the_address_of_a_repost_leads_to_the_post(browser, posts, alice, raw):
    raw.hset("post:20", mapping={"user_id": 1, "time": 1_700_000_000, "repost_of": 3})
    raw.zadd("updates:1", {20: 20})
    assert browser().get("/@Alice/20/")["Location"] == "/@bob/3/"
    raw.hset("post:3", mapping={"deleted": 1, "body": ""})
    Memory.clear_all()
    assert browser().get("/@Alice/20/").status_code == 404


@pytest.mark.parametrize("page", ["/@bob/2/quotes/", "/likes/", "/bookmarks/", "/tags/redis/"])
def test_every_list_shows_ones_own_action_at_once(browser, posts, member, raw, page):
    raw.hset("post:3", "quote", 2)
    raw.zadd("quotes_of:2", {3: 3})
    raw.zadd("likes:1", {3: 1_800_000_000})
    raw.zadd("bookmarks:1", {3: 1_800_000_000})
    write_tag(raw, "redis", [3])
    member.get(page)
    browser().get("/@bob/")  # this process caches the post
    raw.hset("post:3", "likes", 8)
    member.cookies[POSTS_CHANGED] = "3"  # as the answer of another worker has set it
    words, html = row(member.get(page), 3)
    assert "Like 8" in words
    assert 'formaction="/@bob/3/unlike/" aria-pressed="true"' in html


# ---- Each action on a post changes one relation of the viewer.


ALICE, BOB = 1, 2
UNDO = {"like": "unlike", "repost": "unrepost", "bookmark": "unbookmark", "mute": "unmute"}
KEYS = {"like": "likes:1", "repost": "reposts:1", "bookmark": "bookmarks:1", "mute": "muted_threads:1"}

each_action = pytest.mark.parametrize("action", UNDO)


def act(client, pid, action, page="/timeline/?before=90"):
    return client.post(f"/@bob/{pid}/{action}/", headers={"referer": f"http://testserver{page}"})


@each_action
def test_an_action_and_its_undo_lead_back_to_the_page(member, raw, pid, action):
    response = act(member, pid, action)
    assert (response.status_code, response["Location"]) == (302, f"/timeline/?before=90#post-{pid}")
    assert raw.zrange(KEYS[action], 0, -1) == [str(pid)]
    assert act(member, pid, UNDO[action]).status_code == 302
    assert not raw.exists(KEYS[action])


@each_action
@pytest.mark.parametrize(("gone", "status"), [("deleted", 410), ("never there", 404), ("by another author", 404)])
def test_a_post_that_is_not_there_is_refused(browser, store, alice, raw, pid, action, gone, status):
    if gone == "deleted":
        Posts(store).delete(BOB, pid)
    elif gone == "never there":
        pid = 99
    else:
        raw.hset(f"post:{pid}", "user_id", 1)
    assert act(browser(alice), pid, action).status_code == status
    assert not raw.exists(KEYS[action])


@each_action
@pytest.mark.parametrize(("who", "whom"), [(ALICE, BOB), (BOB, ALICE)])
def test_a_post_of_a_blocked_person_is_refused(browser, store, alice, raw, pid, action, who, whom):
    BlockedPeople(store).block(who, whom)
    assert "You cannot see this." in page_of(act(browser(alice), pid, action), 403)
    assert not raw.exists(KEYS[action])


@each_action
@pytest.mark.parametrize(("who", "whom"), [(ALICE, BOB), (BOB, ALICE)])
def test_an_undo_works_also_behind_a_block(store, member, raw, pid, action, who, whom):
    act(member, pid, action)
    assert raw.exists(KEYS[action])
    BlockedPeople(store).block(who, whom)
    response = act(member, pid, UNDO[action])
    assert (response.status_code, response["Location"]) == (302, "/timeline/?before=90")
    assert not raw.exists(KEYS[action])
    in_place = member.post(f"/@bob/{pid}/{UNDO[action]}/", headers={"HX-Request": "true"})
    assert in_place["Location"] == "/"  # another page than that of the button is opened


def test_actions_are_counted_and_an_undo_is_not(member, raw, pid):
    for action in UNDO:
        act(member, pid, action)
        act(member, pid, UNDO[action])
    assert raw.zcard("throttle:act:1") == len(UNDO)
