"""While a post is typed, the site completes names and tags."""

import re

import pytest
from hypothesis import given, strategies as st

from tests.support.people import register
from tests.support.stored_posts import write_tag
from timeline.posts.links import folded, in_index
from timeline.relations.relations import Follows
from timeline.tags.feature import COMPLETIONS
from timeline.tags.tags import MOST_SHOWN

OPTION = re.compile(r'<li id="completion-\d" role="option" aria-selected="false" data-text="([^"]*)"')


def completed(client, typed):
    answer = client.get("/complete/", {"q": typed})
    if answer.status_code == 204:
        return []
    assert answer.status_code == 200
    return OPTION.findall(answer.content.decode())


def test_a_name_is_completed_by_its_beginning(member, bob, carol):
    assert completed(member, "@b") == ["@bob"]
    assert completed(member, "@CAR") == ["@carol"]
    assert completed(member, "@x") == []


def test_people_that_the_user_follows_come_first(browser, store, alice, bob, carol):
    register(store, "Bobby")
    register(store, "Boba")
    Follows(store).follow(1, 4)
    client = browser(alice)
    assert completed(client, "@bob")[0] == "@Bobby"
    german = client.get("/complete/", {"q": "@bob"}, headers={"accept-language": "de"}).content.decode()
    assert german.count('<span class="tag">Folge ich</span>') == 1


def test_a_tag_is_completed_by_its_beginning_the_most_used_first(raw, member):
    write_tag(raw, "Redis", [1])
    write_tag(raw, "RedisCluster", [1, 2, 3])
    write_tag(raw, "Redo", [1, 2])
    write_tag(raw, "Red", [])  # no post has it now
    assert completed(member, "#RE") == ["#RedisCluster", "#Redo", "#Redis"]
    assert completed(member, "＃redis") == ["#Redis", "#RedisCluster"]
    assert completed(member, "#django") == []


def test_a_tag_is_found_without_its_marks_and_by_unfinished_syllables(raw, member):
    write_tag(raw, "Été", [1])
    write_tag(raw, "한국어", [1])
    assert completed(member, "#e") == ["#Été"]
    assert completed(member, "#하") == ["#한국어"]


def test_only_a_few_are_shown(browser, raw, alice):
    for number in range(30):
        write_tag(raw, f"t{number}", [1])
    assert len(completed(browser(alice), "#t")) == MOST_SHOWN


@pytest.mark.parametrize("typed", ["", "@", "#", "a", "al", "@ ", "#\u200d"])
def test_nothing_else_is_completed(browser, raw, alice, typed):
    assert browser(alice).get("/complete/", {"q": typed}).status_code == 204


def test_visitors_get_nothing(browser, raw, alice):
    assert browser().get("/complete/?q=@al").status_code == 204


def test_names_are_escaped(browser, raw, alice):
    raw.hset("tags", "used", '"><script>')
    raw.zadd("tags_by_name", {"used": 0})
    raw.zadd("tag:used", {"1": 1})
    assert completed(browser(alice), "#us") == ["#&quot;&gt;&lt;script&gt;"]


def test_it_is_limited(raw, settings, member):
    settings.THROTTLE = True
    codes = [member.get("/complete/?q=@a").status_code for _ in range(COMPLETIONS.times + 1)]
    assert codes == [200] * COMPLETIONS.times + [429]


def test_it_takes_three_round_trips(raw, member, round_trips):
    for number in range(30):
        write_tag(raw, f"t{number}", [1])
    member.get("/complete/?q=#t")
    for typed in ("#t", "@a"):
        assert len(round_trips(lambda typed=typed: member.get("/complete/", {"q": typed})).round_trips) <= 4


@given(st.text(max_size=20))
def test_the_index_leads_back_to_the_folded_tag(text):
    assert folded(in_index(folded(text))) == folded(text)
