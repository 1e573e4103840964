"""Posts with words that the viewer mutes are left out of lists, or wait behind a line that names the words."""

import pytest

from accounts.media.repository import Pictures
from tests.support.http.page_text import text_of
from tests.support.pictures import decoded_picture
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_answer
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts
from timeline.relations.muted_words import How, MutedWord, MutedWords, Where
from timeline.relations.relations import FOREVER
from timeline.search.index import Indexing

ALICE, BOB, CAROL = 1, 2, 3
EVERY_LIST = ("/", "/timeline/", "/@bob/", "/tags/finale/", "/@bob/replies/")

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def mute(store, words, where=Where.EVERYWHERE, how=How.HIDE, until=FOREVER):
    MutedWords(store).mute(ALICE, MutedWord(words, where, how, until), ())


@pytest.mark.parametrize("page", EVERY_LIST)
def test_muted_everywhere_a_post_is_in_no_list(browser, store, member, pid, page):
    assert "was grand" in text_of(member.get(page))
    mute(store, "finale")
    assert "was grand" not in text_of(member.get(page))
    assert "was grand" in text_of(browser().get("/timeline/"))


def test_muted_at_home_a_post_is_on_all_other_pages(store, member, pid):
    mute(store, "finale", Where.HOME)
    assert "was grand" not in text_of(member.get("/"))
    assert "By carol" in text_of(member.get("/"))
    for page in EVERY_LIST[1:]:
        assert "was grand" in text_of(member.get(page)), page


@pytest.mark.parametrize("page", EVERY_LIST)
def test_a_folded_post_waits_behind_its_words(browser, store, alice, pid, page):
    mute(store, "Grand Finale <", how=How.FOLD)
    mute(store, "was GRÄND", how=How.FOLD)
    html = browser(alice).get(page).content.decode()
    assert html.count('<details class="folded"><summary class="note">Muted: <bdi>was GRÄND</bdi></summary>') == 1
    assert f'id="post-{pid}"' in html


@pytest.mark.parametrize(
    ("words", "text", "is_muted"),
    [
        ("walk", "They walk home", True),
        ("walk", "They walked home", False),
        ("walk", "boardwalk", False),
        ("can", "I can't", False),
        ("cafe", "Un CAFÉ, vite", True),
        ("straße", "in der STRASSE", True),
        ("big news", "Big  news!", True),
        ("big news", "big, bad news", False),
        ("news", "see #News", True),
        ("東京", "今日は東京にいます", True),
        ("京東", "今日は東京にいます", False),
        ("день", "День добрый", True),
        ("🎉", "Yes 🎉", True),
        ("example.com", "at https://example.com/x", True),
    ],
)
def test_whole_words_are_muted_and_parts_of_runs(browser, store, raw, alice, bob, words, text, is_muted):
    post = publish(raw, store, bob, text)
    mute(store, words)
    shown = browser(alice).get("/timeline/").content.decode()
    assert (f'id="post-{post}"' not in shown) == is_muted


@pytest.mark.parametrize(
    ("words", "body", "is_muted"),
    [
        ("hairy spider", "@alice Look", True),
        ("SPIDER", "", True),
        ("look a", "@alice Look", False),
        ("spide", "@alice Look", False),
    ],
)
@pytest.mark.parametrize("how", How)
def test_what_a_picture_shows_is_muted_as_a_text_is(browser, store, raw, alice, bob, words, body, is_muted, how):
    """Screen readers read it aloud, and apps show it. No phrase begins in the text and ends in a description."""
    mute(store, words, how=how)
    Pictures(store).add(BOB, decoded_picture())
    media = Media((Picture(decoded_picture().digest, alt="A hairy spider"),))
    pid = Posts(store).publish(BOB, NewPost(body, media=media), "t9").pid
    quoting = Posts(store).publish(CAROL, NewPost("So it is", quote=pid), "t8").pid
    shown = browser(alice).get("/timeline/").content.decode()
    is_hidden = is_muted and how is How.HIDE
    assert (f'id="post-{pid}"' not in shown) == is_hidden
    assert shown.count('<details class="folded">') == (2 if is_muted and how is How.FOLD else 0)
    assert f'id="post-{quoting}"' in shown
    assert raw.zcard("notices:1") == (1 if body and not is_hidden else 0)


def test_the_viewers_own_posts_are_never_muted(browser, store, raw, alice, pid):
    own = publish(raw, store, alice, "My finale")
    mute(store, "finale")
    mute(store, "my", how=How.FOLD)
    html = browser(alice).get("/").content.decode()
    assert f'id="post-{own}"' in html
    assert 'class="folded"' not in html


def test_a_post_that_the_viewer_opens_is_shown_and_muted_answers_keep_their_place(browser, store, raw, alice, pid):
    write_answer(raw, CAROL, 10, parent=pid, body="Not my finale")
    write_answer(raw, CAROL, 11, parent=10, body="Below it")
    mute(store, "finale")
    html = browser(alice).get(f"/@bob/{pid}/").content.decode()
    assert f'id="post-{pid}"' in html
    assert "Not my finale" not in html
    assert "This post is hidden." in html
    assert 'id="post-11"' in html


def test_a_repost_and_a_quote_of_a_muted_post_do_not_show_it(browser, store, raw, alice, carol, pid):
    Posts(store).publish(CAROL, NewPost("Look at this", quote=pid), "one")
    Reposts(store).repost(CAROL, pid, BOB)
    mute(store, "finale")
    shown = text_of(browser(alice).get("/@carol/"))
    assert "Look at this" in shown
    assert "was grand" not in shown


def test_a_post_that_quotes_a_folded_one_is_folded(browser, store, raw, alice, carol, pid):
    Posts(store).publish(CAROL, NewPost("Look at this", quote=pid), "one")
    mute(store, "finale", how=How.FOLD)
    assert browser(alice).get("/@carol/").content.decode().count('class="folded"') == 1


def test_notices_and_searches_leave_muted_posts_out(store, raw, member, bob, pid):
    Indexing(store).index([publish(raw, store, bob, "@alice the finale!")])
    for page in ("/notifications/", "/search/?q=finale"):
        assert "the finale!" in text_of(member.get(page)), page
    mute(store, "finale")
    for page in ("/notifications/", "/search/?q=finale"):
        assert "the finale!" not in text_of(member.get(page)), page


def test_words_whose_time_is_over_mute_nothing(browser, store, alice, pid):
    mute(store, "finale", until=1)
    assert "was grand" in text_of(browser(alice).get("/"))


def test_new_posts_with_muted_words_are_not_announced(store, raw, member, bob, pid):
    mute(store, "rain", Where.HOME)
    publish(raw, store, bob, "rain again")
    assert member.get("/new/", {"after": pid}).status_code == 204
    publish(raw, store, bob, "sun at last")
    assert "1 new post" in text_of(member.get("/new/", {"after": pid}))


def test_pages_cost_as_much_as_without_muted_words(store, member, pid, round_trips):
    for page in ("/", "/timeline/"):
        member.get(page)
        before = round_trips(lambda page=page: member.get(page)).round_trips
        mute(store, "nothing like it")
        member.get(page)
        after = round_trips(lambda page=page: member.get(page)).round_trips
        assert [len(trip.commands) for trip in after] == [len(trip.commands) for trip in before], page
