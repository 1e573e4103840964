"""`--layout auto` knows each Retwis by its keys, and asks when it cannot know."""

import pytest
from django.core.management import CommandError

from tests.support.other_retwises.official import OfficialRetwis
from tests.support.other_retwises.php import PhpRetwis
from tests.support.other_retwises.redis_in_action import RedisInActionSite
from tests.support.other_retwises.retwis_j import JavaRetwis
from tests.support.other_retwises.retwis_rb import PythonRetwis, RubyRetwis
from tests.support.other_retwises.retwis_symfony import SymfonyRetwis
from tests.support.other_retwises.twtr import TwtrSite
from tests.support.people import LONG_AGO, register
from timeline.other_retwises.detect import LAYOUTS, detect
from timeline.other_retwises.source import connect_to

FILLED = {
    "official": lambda raw: OfficialRetwis(raw).register("alice", "a password", LONG_AGO),
    "php": lambda raw: PhpRetwis(raw).register("alice", "a password"),
    "twtr": lambda raw: TwtrSite(raw).follow("alice", "bob"),
    "rb": lambda raw: RubyRetwis(raw).register("alice", "a password"),
    "py": lambda raw: PythonRetwis(raw).register("alice", "a password"),
    "j": lambda raw: JavaRetwis(raw).register("alice", "a password"),
    "action": lambda raw: RedisInActionSite(raw).register("alice", "", LONG_AGO),
    "symfony": lambda raw: SymfonyRetwis(raw).register("alice", "", LONG_AGO),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_is_known_by_its_keys(source, name):
    FILLED[name](source.raw)
    assert detect(connect_to([source.url])).name == name


def test_a_key_among_those_of_many_others_is_found(source):
    source.raw.mset({f"another program:{number}": number for number in range(3000)})
    RubyRetwis(source.raw).register("alice", "a password")
    assert detect(connect_to([source.url])).name == "rb"


def test_several_layouts_are_an_error_that_names_them(raw, source, importing):
    FILLED["php"](source.raw)
    FILLED["j"](source.raw)
    with pytest.raises(CommandError) as refused:
        importing()
    assert "several layouts: php (by global:nextUserId), j (by global:uid)" in str(refused.value)
    assert "--layout" in str(refused.value)
    assert raw.keys() == []
    assert "Layout: Retwis-J" in importing("--layout=j")


def test_no_layout_is_an_error_that_names_the_keys(raw, source, importing):
    source.raw.set("something", "else")
    with pytest.raises(CommandError, match="none of the keys by which layouts are known") as refused:
        importing()
    for layout in LAYOUTS.values():
        assert layout.mark in str(refused.value)
    assert raw.keys() == []


def test_a_named_layout_needs_no_mark(raw, source, importing):
    FILLED["php"](source.raw)
    source.raw.delete("global:nextUserId")
    importing("--layout=php")
    assert raw.hgetall("users") == {"alice": "1"}


@pytest.mark.parametrize("layout", ["auto", *LAYOUTS])
def test_a_database_of_this_site_is_for_copy(source, importing, store, raw, layout):
    register(store, "alice")
    source.raw.restore("users_by_name", 0, raw.dump("users_by_name"))
    with pytest.raises(CommandError, match=r"Use `manage\.py copy --from`"):
        importing(f"--layout={layout}")


@pytest.mark.parametrize("layout", ["auto", "official"])
def test_a_half_adopted_database_is_refused(raw, source, importing, layout):
    FILLED["official"](source.raw)
    source.raw.set("schema", "adopting")
    with pytest.raises(CommandError, match="it has the key schema"):
        importing(f"--layout={layout}")
    assert raw.keys() == []
