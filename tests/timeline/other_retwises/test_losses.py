"""What an import leaves out is counted, with examples. One damaged key never ends it."""

import pytest

from tests.support.other_retwises.imported import follows, posts
from tests.support.other_retwises.official import OfficialRetwis
from tests.support.other_retwises.php import PhpRetwis
from tests.support.other_retwises.redis_in_action import RedisInActionSite
from tests.support.other_retwises.retwis_j import JavaRetwis
from tests.support.other_retwises.retwis_rb import PythonRetwis, RubyRetwis
from tests.support.other_retwises.retwis_symfony import SymfonyRetwis
from tests.support.people import LONG_AGO
from timeline.other_retwises.problems import EXAMPLES, LONGEST_EXAMPLE, Problems

# The keys of a person, of a post and of whom a person follows; what a post of only one field has.
HASHES = {
    "official": ("user:9", "post:3", "following:1", {"post:4": {"user_id": "1"}}),
    "action": ("user:9", "status:3", "following:1", {"status:4": {"uid": "1"}}),
    "symfony": ("user:9", "post:3", "user:likes:1", {"post:4": {"author": "1"}}),
    "j": ("uid:9", "pid:3", "uid:1:following", {"pid:4": {"uid": "1"}}),
}


@pytest.fixture
def fill(source):
    """Alice follows bob; both have posted. `fill("j")` writes it in a layout."""

    def people(name):
        if name == "official":
            site = OfficialRetwis(source.raw)
            site.register("alice", "a password", LONG_AGO)
            site.register("bob", "a password", LONG_AGO)
            site.follow(1, 2, LONG_AGO)
        elif name in {"action", "symfony"}:
            site = {"action": RedisInActionSite, "symfony": SymfonyRetwis}[name](source.raw)
            site.register("alice", "", LONG_AGO)
            site.register("bob", "", LONG_AGO)
            site.follow(1, 2, LONG_AGO)
        else:
            site = {"j": JavaRetwis, "php": PhpRetwis, "rb": RubyRetwis, "py": PythonRetwis}[name](source.raw)
            site.register("alice", "a password")
            site.register("bob", "a password")
            site.follow(1, 2)
        site.post(1, "first", LONG_AGO)
        site.post(2, "second", LONG_AGO)
        return site

    return people


@pytest.mark.parametrize("name", HASHES)
def test_keys_of_the_wrong_type_are_left_out_and_named(raw, fill, source, importing, name):
    fill(name)
    person, post, edges, _ = HASHES[name]
    for key in (person, post, edges):
        source.raw.set(key, "x")
    printed = importing()
    assert "note: keys of the wrong type: 3 (" in printed
    assert all(key in printed for key in (person, post, edges))
    assert raw.hgetall("users") == {"alice": "1", "bob": "2"}
    assert list(posts(raw)) == [1, 2]


@pytest.mark.parametrize("name", ["php", "rb", "py"])
def test_strings_of_the_wrong_type_are_left_out_and_named(raw, fill, source, importing, name):
    fill(name)
    wrong = {
        "php": ("uid:2:following", "post:3", "uid:1:password"),
        "rb": ("user:id:2:followees", "post:id:3:content", "user:id:1:salt"),
        "py": ("user:id:2:followees", "post:id:3:content", "user:id:1:password"),
    }[name]
    for key in wrong:
        source.raw.delete(key)
        source.raw.hset(key, "field", "x")
    printed = importing()
    assert "note: keys of the wrong type: 3 (" in printed
    assert all(key in printed for key in wrong)
    assert follows(raw).keys() == {(1, 2)}
    assert list(posts(raw)) == [1, 2]


@pytest.mark.parametrize("name", HASHES)
def test_posts_without_a_text_are_counted(raw, fill, source, importing, name):
    fill(name)
    for key, fields in HASHES[name][3].items():
        source.raw.hset(key, mapping=fields)
    assert "note: posts without a text: 1 (post 4)" in importing()
    assert list(posts(raw)) == [1, 2]


@pytest.mark.parametrize("name", ["rb", "py"])
def test_a_person_without_a_name_and_a_post_without_a_text_are_counted(raw, fill, source, importing, name):
    fill(name)
    source.raw.delete("user:id:2:username", "post:id:1:content")
    printed = importing()
    assert "note: people without a name: 1 (user 2)" in printed
    assert "note: posts without a text: 1 (post 1)" in printed
    assert raw.hgetall("users") == {"alice": "1"}


def test_keys_whose_number_is_no_id_are_counted_once(raw, fill, source, importing):
    fill("official")
    for key in ("user:007", "user:-1", "post:0", f"post:{2**53 + 1}"):
        source.raw.hset(key, mapping={"username": "carol", "user_id": 1, "body": "x"})
    printed = importing()
    assert "note: keys whose number is no id: 4 (" in printed
    assert "user:007" in printed
    assert list(posts(raw)) == [1, 2]


def test_members_that_are_no_ids_are_counted(raw, fill, source, importing):
    fill("official")
    source.raw.zadd("following:1", {"bob": 1})
    assert "note: members of sets that are no ids: 1 (bob in following:1)" in importing()
    assert follows(raw).keys() == {(1, 2)}


def test_an_example_is_cut_and_a_terminal_can_show_it():
    problems = Problems()
    for text in ("\udce9 \x1b[2J\n", "x" * 1000, "ä"):
        problems.note("reason", text)
    [line] = problems.lines()
    assert line == f"reason: 3 (\\udce9 \\x1b[2J\\n, {'x' * LONGEST_EXAMPLE}..., ä)"
    assert len(problems.counts) < EXAMPLES
