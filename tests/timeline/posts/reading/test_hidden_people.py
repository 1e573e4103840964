"""Nobody sees posts of people whom they block or mute, or who block them: in no list, and not inside other posts."""

from tests.support.http.page_text import text_of
from tests.support.stored_keys import publish
from timeline.posts.delivery import Reposts
from timeline.relations.relations import BlockedPeople, Follows, Mutes

ALICE, BOB, CAROL = 1, 2, 3


def test_the_reposts_of_a_person_are_hidden_and_what_they_write_is_not(store, raw, member, pid, bob):
    other = publish(raw, store, bob, "Another by bob")
    Follows(store).unfollow(ALICE, BOB)
    Reposts(store).repost(CAROL, other, BOB)
    assert "Another by bob" in text_of(member.get("/"))
    Mutes(store).mute_reposts(ALICE, CAROL)
    shown = text_of(member.get("/"))
    assert "Another by bob" not in shown
    assert "By carol" in shown


def test_a_blocked_person_is_told_that_there_is_something_to_see_for_others_and_where_to_go(
    browser, store, member, pid
):
    for one, other in ((BOB, CAROL), (CAROL, BOB)):
        Follows(store).follow(one, other)
    lists = ("followers/", "following/", "followers/?before=1900000000-9", "followers/?show=mutual")
    addresses = [f"/@bob/{page}" for page in ("", f"{pid}/", "more/", *lists)]
    assert [member.get(address).status_code for address in addresses] == [200] * 7
    BlockedPeople(store).block(BOB, ALICE)
    member.get("/")
    for address in addresses:
        response = member.get(address)
        assert response.status_code == 403
        assert "You cannot see this. This person does not show you their profile and posts" in text_of(response)
        for way in ("/", "/timeline/", "/people/"):
            assert f'<a class="button{" quiet" if way != "/" else ""}" href="{way}">' in response.content.decode()
        assert 'formaction="/logout/"' in response.content.decode()
        assert browser().get(address).status_code == 200


def test_a_post_of_a_person_whom_the_viewer_blocks_leads_to_the_unblocking(browser, store, alice, pid):
    BlockedPeople(store).block(ALICE, BOB)
    response = browser(alice).get(f"/@bob/{pid}/")
    assert response.status_code == 403
    assert "You cannot see this. You block this person" in text_of(response)
    assert '<a class="button" href="/@bob/">Their profile</a>' in response.content.decode()


def test_the_profile_of_a_person_whom_the_viewer_blocks_has_the_way_back(store, member, pid):
    BlockedPeople(store).block(ALICE, BOB)
    shown = text_of(member.get("/@bob/"))
    assert "was grand" not in shown
    assert "You block @bob." in shown
    assert 'href="/@bob/more/"' in member.get("/@bob/").content.decode()
    assert "Unblock bob" in text_of(member.get("/@bob/more/"))
    for page in ("/@bob/", "/@bob/more/"):
        assert 'action="/@bob/follow/"' not in member.get(page).content.decode()


def test_the_menu_of_a_profile_blocks_and_mutes(browser, member, pid):
    assert 'href="/@bob/more/" aria-label="More about bob"' in member.get("/@bob/").content.decode()
    page = member.get("/@bob/more/").content.decode()
    for address in ("block", "mute"):
        assert f'action="/@bob/{address}/"' in page
    assert "/@Alice/more/" not in member.get("/@Alice/").content.decode()
    assert 'action="/@Alice/block/"' not in member.get("/@Alice/more/").content.decode()
    assert "/more/" not in browser().get("/@bob/").content.decode()
    assert "/block/" not in browser().get("/@bob/more/").content.decode()
