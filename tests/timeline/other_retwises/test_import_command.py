"""`manage.py import_retwis`: which Retwis it finds, what it refuses, a dry run, a second run after a crash, and what
it leaves out."""

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.filling import Filling
from retwis_site.store.client import connect
from tests.support.command_output import refuses, said
from tests.support.maintenance.official_database import OfficialDatabase
from tests.support.other_retwises.imported import contents, follows, posts
from tests.support.other_retwises.php import PhpRetwis
from tests.support.other_retwises.redis_in_action import RedisInActionSite
from tests.support.other_retwises.retwis_j import JavaRetwis
from tests.support.other_retwises.retwis_rb import PythonRetwis, RubyRetwis
from tests.support.other_retwises.retwis_symfony import SymfonyRetwis
from tests.support.other_retwises.twtr import TwtrSite
from tests.support.people import LONG_AGO, register
from tests.support.stores.indexed_posts import posts_under
from tests.support.stores.seam import Killed, killed_before_round_trip
from timeline.other_retwises.layouts import LAYOUTS, detect
from timeline.other_retwises.source import EXAMPLES, LONGEST_EXAMPLE, CannotImport, Problems, connect_to

WRITES = [("SET", "x", "1"), ("DEL", "x"), ("FLUSHDB",), ("LPUSH", "x", "1"), ("EXPIRE", "x", "1"), ("set", "x", "1")]


@pytest.fixture
def site(source):
    site = PhpRetwis(source.raw)
    for name in ("Alice", "bob"):
        site.register(name, f"the password of {name}")
    site.follow(1, 2)
    for number in range(3):
        site.post(2, f"number {number}", LONG_AGO + number)
    return site


def test_a_dry_run_tells_the_same_and_writes_nothing(raw, site, importing):
    dry = importing("--dry-run").splitlines()
    assert raw.keys() == []
    real = importing().splitlines()
    assert dry[:-1] == real[:-1]
    assert dry[-1] == "Nothing was written: this was a dry run."
    assert real[-1] == "Imported."


def test_the_site_works_after_an_import_and_doctor_finds_nothing(site, importing, browser, capsys):
    importing()
    assert "No errors" in said(capsys, "doctor")
    client = browser()
    assert client.post("/login/", {"username": "alice", "password": "the password of Alice"}).status_code == 302
    page = client.get("/").content.decode()
    assert all(f"number {number}" in page for number in range(3))
    assert client.post("/post/", {"body": "from here", "token": "new"}).status_code == 302
    assert "from here" in client.get("/timeline/").content.decode()


def test_a_store_with_people_is_refused(raw, site, importing, alice):
    before = contents(raw)
    with pytest.raises(CommandError, match="Name an empty one"):
        importing()
    assert contents(raw) == before


def test_after_a_crash_the_next_run_starts_from_the_beginning(raw, site, importing, source):
    def run():
        call_command("import_retwis", f"--from={source.url}", verbosity=0)

    for step in range(5, 60, 6):
        for key in raw.keys():  # noqa: SIM118  a client, not a dict
            raw.delete(key)
        site_before = contents(source.raw)
        if not killed_before_round_trip(step, run):
            break
        raw.delete("lease:filling")  # some seconds later
        if raw.get("next_user_id") not in {None, "copying"}:  # only the search does not know all posts yet
            raw.delete("lease:reindex")  # a minute later
            call_command("reindex", verbosity=0)
            assert posts_under(connect(), "from:2") == {1, 2, 3}
            continue
        source.raw.delete("post:1")  # what was read from it must not stay
        run()
        assert list(posts(raw)) == [2, 3]
        source.raw.set("post:1", f"2|{LONG_AGO}|number 0")
        assert contents(source.raw) == site_before
    assert step > 20


def test_the_source_can_be_read_from_standard_input(raw, site, source, typed, capsys):
    typed(f"{source.url}\n")
    said(capsys, "import_retwis", "--from=-", verbosity=0)
    assert raw.hlen("users") == 2


@pytest.mark.parametrize("address", ["", " , "])
def test_no_address_is_an_error_that_shows_one(address):
    refuses("--from names no server", "import_retwis", f"--from={address}")


def test_several_servers_that_are_no_cluster_are_refused(source):
    refuses("several servers that are no cluster", "import_retwis", f"--from={source.url},{source.url}")


@pytest.mark.real_server
@pytest.mark.usefixtures("raw")
def test_a_source_that_does_not_answer_is_named():
    refuses("--from does not answer", "import_retwis", "--from=redis://127.0.0.1:1")


@pytest.mark.parametrize("command", WRITES)
def test_a_command_that_is_no_read_is_not_sent_to_the_source(source, site, command):
    before = contents(source.raw)
    guarded = connect_to([source.url])
    pipe = guarded.pipeline()
    pipe.send(*command)
    for send in (lambda: guarded.send(*command), pipe.execute, lambda: guarded.servers()[0].send(*command)):
        with pytest.raises(CannotImport, match="only reads"):
            send()
    assert contents(source.raw) == before


def test_an_import_sends_only_reads_to_the_source(site, source, importing, sent):
    importing("--dry-run")
    assert {command[0] for command in sent.commands} <= {"GET", "INFO", "DBSIZE", "SCAN", "SSCAN", "TYPE"}


def test_a_killed_filling_leaves_no_site_that_takes_posts(raw, site, source, monkeypatch):
    def die(self, largest):
        raise Killed

    monkeypatch.setattr(Filling, "finish", die)
    with pytest.raises(Killed):
        call_command("import_retwis", f"--from={source.url}", verbosity=0)
    assert raw.get("next_user_id") == "copying"
    assert raw.get("next_post_id").startswith("copying-")


# ---- `--layout auto` knows each Retwis by its keys, and asks when it cannot know.


FILLED = {
    "official": lambda raw: OfficialDatabase(raw).register("alice", "a password", LONG_AGO),
    "pytwis": lambda raw: raw.mset({"next_user_id": 1, "next_tweet_id": 1}),
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
    with pytest.raises(CommandError, match=r"Use `manage\.py db copy --from`"):
        importing(f"--layout={layout}")


@pytest.mark.parametrize("layout", ["auto", "official"])
def test_a_half_adopted_database_is_refused(raw, source, importing, layout):
    FILLED["official"](source.raw)
    source.raw.set("schema", "adopting")
    with pytest.raises(CommandError, match="it has the key schema"):
        importing(f"--layout={layout}")
    assert raw.keys() == []


# ---- What an import leaves out is counted, with examples. One damaged key never ends it.


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
            site = OfficialDatabase(source.raw)
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
