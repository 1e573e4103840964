"""`manage.py import_account FILE` brings back a person's own download: also replies, quotes, earlier texts, and what
the person did with posts, people and tags."""

import json
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.facts.facts import Fact, save_profile
from retwis_site.jobs import outbox
from retwis_site.jobs.worker import drain
from retwis_site.store import snowflake
from retwis_site.store.local_cache import Memory
from tests.support.command_output import doctor, findings_of
from tests.support.maintenance.downloads import WHEN, download_file
from tests.support.people import LONG_AGO, PASSWORD, register
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.removed_accounts import delete_account
from tests.support.stored_keys import drain_due, empty, everything, publish
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip, each_moment, killed_before_round_trip, stride
from timeline.account_data.download import export
from timeline.account_data.restoring import NamedPost, RestoredRelations, named
from timeline.posts.checks import OrphanedPosts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.muted_words import How, MutedWord, MutedWords, Where
from timeline.relations.relations import FOREVER, BlockedPeople, Bookmarks, Follows, Likes, Mutes, TagFollows, in_days
from timeline.timelines.profile import Pins

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def download(tmp_path):
    """`download(posts, ...)` writes a file of alice's with these posts, newest first. Returns its path."""

    def write(posts, **others):
        path = tmp_path / "download.jsonl"
        path.write_bytes(download_file(posts, **others))
        return str(path)

    return write


LIKE = f'"type": "like", "since": "{WHEN}"'
TWO = [(12, "2023-11-14T22:13:22Z", "later"), (11, "2023-11-14T22:13:21Z", "sooner")]


def import_account(path, *options):
    call_command("import_account", path, *options)


def posts_of(raw, uid):
    """Each post of an author, oldest id first: id, time and text."""
    return [(int(pid), *raw.hmget(f"post:{pid}", "time", "body")) for pid in raw.zrange(f"updates:{uid}", 0, -1)]


def test_a_new_account_gets_the_posts_with_their_dates_and_a_password(raw, download, typed, browser, capsys):
    typed(f"{PASSWORD}\n")
    about = {"language": "de", "colour": "red", "needs_alt": "2023-11-14T22:13:20Z"}
    import_account(download(TWO, name="@Alice L.", bio="I fell.", **about))
    assert posts_of(raw, 1) == [(1, "1700000001", "sooner"), (2, "1700000002", "later")]
    profile = raw.hmget("user:1", "username", "name", "bio", "language", "colour", "needs_alt")
    assert profile == ["Alice", "Alice L.", "I fell.", "de", "red", "1700000000"]
    assert raw.zscore("users_by_name", "alice l.:1") == 0
    assert browser().post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 302
    assert raw.zcard("outbox") == 0
    assert doctor(capsys) == (0, {}, {})


def test_a_downloaded_file_of_the_site_is_brought_back(raw, store, alice, bob, tmp_path, typed):
    Follows(store).follow(1, 2)
    for text in ("One", "Two"):
        publish(raw, store, alice, text)
    before = posts_of(raw, 1)
    path = tmp_path / "download.jsonl"
    path.write_bytes(export(store, alice.user, lambda *arguments: "").read())
    empty(raw)
    register(store, "Bob")
    raw.set("next_post_id", 10)
    typed(f"{PASSWORD}\n")
    import_account(str(path))
    assert posts_of(raw, 2) == before
    assert raw.zrange("following:2", 0, -1) == ["1"]
    assert raw.zrange("followers:1", 0, -1) == ["2"]


@pytest.mark.parametrize("number", [1, 70])
def test_a_file_with_a_bom_is_read_like_one_without(raw, alice, download, number):
    posts = [(pid, "2023-11-14T22:13:22Z", f"post {pid}") for pid in range(number, 0, -1)]
    path = Path(download(posts))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    import_account(str(path), "--into-existing")
    assert [body for _, _, body in posts_of(raw, 1)] == [body for _, _, body in reversed(posts)]


def test_a_bom_elsewhere_is_damage(raw, alice, download):
    path = Path(download(TWO))
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(first + b"\n\xef\xbb\xbf" + rest)
    with pytest.raises(CommandError):
        import_account(str(path), "--into-existing")


def test_a_post_keeps_its_id_when_it_is_free_and_was_given_out(raw, store, alice, bob, download):
    """11 is bob's, 12 is free, 40 is above the counter."""
    raw.set("next_post_id", 30)
    raw.hset("post:11", mapping={"user_id": 2, "time": LONG_AGO, "body": "bob's"})
    raw.zadd("updates:2", {"11": 11})
    posts = [(40, "2023-11-14T22:13:24Z", "last"), *TWO]
    import_account(download(posts), "--into-existing")
    assert posts_of(raw, 1) == [(12, "1700000002", "later"), (31, "1700000001", "sooner"), (32, "1700000004", "last")]
    assert posts_of(raw, 2) == [(11, str(LONG_AGO), "bob's")]
    assert raw.get("next_post_id") == "32"


def test_old_ids_are_claimed_when_no_post_can_be_under_way_with_them(raw, alice, download, monkeypatch):
    waited = []
    monkeypatch.setattr("timeline.account_data.restoring.time.sleep", waited.append)
    import_account(download(TWO), "--into-existing")
    assert waited == []
    raw.set("next_post_id", 50)
    import_account(download([(45, "2023-11-14T22:13:29Z", "another")]), "--into-existing")
    assert [10 < seconds <= 11 for seconds in waited] == [True]


def test_ids_from_the_time_are_kept(raw, alice, download, settings):
    settings.POST_IDS = "snowflake"
    old = snowflake.make() - (60_000 << 12)
    import_account(download([(old, WHEN, "old"), (7, WHEN, "counted")]), "--into-existing")
    first, second = posts_of(raw, 1)
    assert first == (old, str(LONG_AGO), "old")
    assert snowflake.made_at(second[0]) is not None
    assert raw.zrange("recent", 0, -1) == [str(first[0]), str(second[0])]


def test_a_second_import_writes_nothing_twice(raw, alice, download):
    same = [(13, "2023-11-14T22:13:22Z", "later"), *TWO]  # the author posted the same text twice in a second
    raw.set("next_post_id", 12)
    import_account(download(same), "--into-existing")
    before = everything(raw)
    import_account(download(same), "--into-existing")
    assert everything(raw) == before
    assert [text for _, _, text in posts_of(raw, 1)] == ["sooner", "later", "later"]


def test_homes_and_the_timeline_show_the_posts_at_once(raw, store, alice, bob, download, browser):
    Follows(store).follow(2, 1)
    raw.set("next_post_id", 20)
    for path in ("/", "/timeline/"):
        browser(bob).get(path)
    import_account(download(TWO), "--into-existing")
    Memory.clear_all()
    for path in ("/", "/timeline/", "/@Alice/"):
        assert "sooner" in browser(bob).get(path).content.decode()


def test_the_profile_of_an_account_that_exists_stays(raw, alice, download):
    raw.hset("user:1", mapping={"name": "Ann", "language": "ar", "colour": "teal"})
    import_account(download([], name="Alice L.", bio="I fell.", language="de", colour="red"), "--into-existing")
    assert raw.hmget("user:1", "name", "bio", "language", "colour") == ["Ann", "I fell.", "ar", "teal"]
    raw.hdel("user:1", "colour")
    import_account(download([], colour="mauve", needs_alt="now"), "--into-existing")  # its owner has changed the file
    assert raw.hmget("user:1", "colour", "needs_alt") == [None, None]


def test_a_name_that_is_taken_or_missing_is_refused(raw, alice, download):
    before = everything(raw)
    with pytest.raises(CommandError, match="The name 'ALICE' is taken"):
        import_account(download(TWO, username="ALICE"))
    with pytest.raises(CommandError, match="No user has the name 'bob'"):
        import_account(download(TWO, username="bob"), "--into-existing")
    assert everything(raw) == before


def test_follows_of_people_who_are_not_here_are_counted(raw, alice, bob, carol, download, capsys):
    raw.hset("user:3", "deleted", LONG_AGO)
    call_command("import_account", download([], following=["BOB", "carol", "nobody", "alice"]), "--into-existing")
    assert raw.zrange("following:1", 0, -1) == ["2"]
    assert "2 followed users do not exist here." in capsys.readouterr().out


def test_people_are_followed_from_the_oldest_follow_on_and_looked_up_together(alice, bob, carol, download, round_trips):
    """The file has the newest follow first, and so have lists."""

    def sent(*names):
        return round_trips(lambda: import_account(download([], following=names), "--into-existing"))

    few = len(sent("nobody").round_trips)
    assert len(sent(*map("nobody{}".format, range(9))).round_trips) <= few
    jobs = [command[3] for command in sent("bob", "carol").commands if command[:2] == ("ZADD", "outbox")]
    assert [job.split(":")[2] for job in jobs if job.startswith("follow:1:")] == ["3", "2"]


def test_posts_that_are_too_long_or_from_the_future_are_left_out_and_counted(raw, alice, download, capsys):
    posts = [(1, "2999-01-01T00:00:00Z", "soon"), (2, WHEN, "x" * 281), (3, WHEN, "x" * 280)]
    call_command("import_account", download(posts), "--into-existing")
    said = capsys.readouterr().out
    assert "User Alice has 1 posts more." in said
    assert "1 posts with more than 280 characters were left out." in said
    assert "1 posts with a date in the future were left out." in said


def test_a_text_is_brought_back_as_the_form_of_a_post_takes_it(raw, alice, download, capsys):
    """Its owner may have changed the file: a post of 270 empty lines, and one with characters that no page can show."""
    typed = "1\r\n\n\n\n2 \0\n" + "\n" * 270 + "3 "
    write_posts(raw, 1, [7])
    raw.hset("post:7", mapping={"time": 1700000002, "body": "from\n\n\nelsewhere"})  # as another Retwis has stored it
    path = download([(2, WHEN, typed), (1, "2023-11-14T22:13:22Z", "from\n\n\nelsewhere"), (3, WHEN, "\0\n")])
    for _ in range(2):
        call_command("import_account", path, "--into-existing")
        assert sorted(body for *_, body in posts_of(raw, 1)) == ["1\n\n2\n\n3", "from\n\n\nelsewhere"]
    assert "1 posts with a text that nobody can see were left out." in capsys.readouterr().out


def test_muted_words_come_back_in_one_line_so_a_page_can_unmute_them(raw, store, member, tmp_path):
    MutedWords(store).mute(1, MutedWord("x", Where.HOME, How.HIDE, FOREVER), ())
    path = tmp_path / "download.jsonl"
    downloaded = b"".join(member.get("/settings/download/").streaming_content)
    path.write_bytes(downloaded.replace(b"home hide x", rb"home hide a\nb\u0000 \u202ec"))
    raw.delete("muted_words:1")
    call_command("import_account", str(path), "--into-existing")
    assert raw.zrange("muted_words:1", 0, -1) == ["home hide a b c"]
    member.post("/settings/words/", {"unmute": "home hide a b c"})
    assert raw.zcard("muted_words:1") == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"version": 1', '"version": 2'), "Line 1: version is 2"),
        (lambda text: text.replace("retwis-export", "retwis-site"), "Line 1: this is the file of a whole site"),
        (lambda text: text.replace("retwis-export", "x"), "Line 1: this is no download of an account"),
        (lambda text: text.replace('"id": 12,', '"id": "12",'), "Line 3: id must be a whole number"),
        (lambda text: text.replace('"id": 12', '"quote_address": 5, "id": 12'), "Line 3: quote_address must be a text"),
        (lambda text: text.replace("22:13:22Z", "25:13:22Z"), "Line 3: time must be a time"),
        (lambda text: text.replace('"name": ""', '"name": 5'), "Line 2: name must be a text"),
        (lambda text: text.replace('"type": "post"', LIKE).replace('"address": ""', '"address": 5'), "Line 3: address"),
        (lambda text: text.replace('"lines": 5', '"lines": 6'), "Line 5: the number of lines is another"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "Line 5: there is no line with the type end"),
        (lambda text: text + "{}\n", "Line 5: the number of lines is another"),
        (lambda text: text[:-5], "Line 5: it is too long, or has no line break"),
        (lambda text: "", "Line 1: there is no line with the type end"),
    ],
)
def test_a_damaged_file_changes_nothing(raw, alice, download, tmp_path, change, message):
    path = tmp_path / "damaged.jsonl"
    with open(download(TWO)) as file:  # noqa: PTH123
        path.write_text(change(file.read()))
    before = everything(raw)
    with pytest.raises(CommandError) as error:
        import_account(str(path), "--into-existing")
    assert str(error.value).startswith(message)
    assert everything(raw) == before


# ---- killed and disturbed runs


def a_minute_passes(raw):
    """The lease of a killed run ends."""
    raw.delete("", *raw.keys("lease:import_account:*"))


@pytest.mark.parametrize("free", [{1, 2}, {11, 12}])
def test_of_two_runs_at_once_one_writes_and_the_other_says_so(raw, store, alice, download, free, monkeypatch):
    """Each would have brought back all posts, since it has looked before the other one wrote."""
    monkeypatch.setattr("timeline.account_data.restoring.time.sleep", lambda seconds: None)
    path = download([(pid, when, text) for pid, (_, when, text) in zip(sorted(free, reverse=True), TWO, strict=True)])
    refused = 0
    for number in each_moment():
        raw.delete("outbox", *raw.keys("post:*"), "updates:1", "next_post_id")
        raw.set("next_post_id", 5)
        with before_round_trip(number, lambda: attempted(path)) as second:
            first = attempted(path)
        assert {first, *second} <= {REFUSED, ""}
        refused += REFUSED in {first, *second}
        assert [text for _, _, text in posts_of(raw, 1)] == ["sooner", "later"], number
        assert raw.keys("lease:*") == []
    assert refused > 15


REFUSED = "Another process imports into this account"


def attempted(path):
    """The beginning of what a refused run says."""
    try:
        import_account(path, "--into-existing")
    except CommandError as error:
        return str(error).partition(".")[0]
    return ""


def test_a_run_that_was_stopped_for_a_minute_does_not_go_on_beside_the_next(raw, store, alice, download, monkeypatch):
    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)

    def another_begins():
        raw.set("lease:import_account:1", "another")

    with before_round_trip(8, another_begins):
        assert attempted(download(TWO)) == REFUSED
    assert posts_of(raw, 1) == []
    assert raw.get("lease:import_account:1") == "another"


def test_a_run_killed_before_any_command_is_completed_by_the_next(raw, store, alice, bob, download, capsys):
    """Without a worker between them; with one: tests/protocols/killed."""
    Follows(store).follow(2, 1)
    publish(raw, store, bob, "Hello")
    raw.set("next_post_id", 20)
    path = download([(40, "2023-11-14T22:13:24Z", "last"), *TWO])
    for number in each_moment():
        killed_before_round_trip(number, lambda: import_account(path, "--into-existing"))
        a_minute_passes(raw)
        import_account(path, "--into-existing")
        texts = sorted((when, text) for _, when, text in posts_of(raw, 1))
        assert texts == [("1700000001", "sooner"), ("1700000002", "later"), ("1700000004", "last")]
        assert {11, 12} < {pid for pid, _, _ in posts_of(raw, 1)}
        raw.delete("outbox", *(f"post:{pid}" for pid, _, _ in posts_of(raw, 1)), "updates:1")
    assert number > 15


def test_cleanup_at_any_moment_removes_no_post(raw, store, alice, bob, download, capsys):
    raw.set("next_post_id", 20)
    publish(raw, store, bob, "Hello")

    def clean_up():
        for finding in findings_of(store, OrphanedPosts(store).orphans(), "orphaned post: hashes"):
            finding.repair()

    for number in range(40):
        with before_round_trip(number, clean_up):
            import_account(download(TWO), "--into-existing")
        assert [text for _, _, text in posts_of(raw, 1)] == ["sooner", "later"]
        raw.delete("post:11", "post:12", "updates:1")


def test_the_links_and_facts_of_a_profile_come_back_where_it_has_none(raw, store, alice, tmp_path):
    facts = [Fact("Web", "https://a.example/"), Fact("From", "the rabbit hole")]
    save_profile(store, alice.user, "", "", facts, "http://testserver/@Alice/")
    path = tmp_path / "download.jsonl"
    content = export(store, alice.user, lambda *arguments: "").read()
    path.write_bytes(content.replace(b"the rabbit hole", b" the\\n\\u202erabbit  hole" + b"!" * 200))
    before = raw.hget("user:1", "facts")
    import_account(str(path), "--into-existing")
    assert raw.hget("user:1", "facts") == before
    raw.hdel("user:1", "facts")
    import_account(str(path), "--into-existing")
    [web, (label, value)] = json.loads(raw.hget("user:1", "facts"))
    assert (web, label, value[:18], len(value)) == (["Web", "https://a.example/"], "From", "the rabbit hole!!!", 197)


@pytest.mark.parametrize("options", [[], ["--into-existing"]])
@pytest.mark.parametrize("state", [{"deleted": LONG_AGO}, {"state": "suspended", "state_until": 0}])
def test_the_name_of_an_account_that_nobody_sees_is_told_with_the_way_out(raw, alice, download, typed, options, state):
    raw.hset("user:1", mapping=state)
    typed(f"{PASSWORD}\n")
    with pytest.raises(CommandError, match=r"is deleted or suspended; its name .* Change `username` in the file\.$"):
        import_account(download(TWO), *options)


def test_a_store_that_is_too_slow_stops_the_run(raw, alice, download, monkeypatch):
    monkeypatch.setattr("retwis_site.jobs.outbox.OWNER_GIVES_UP", -1.0)
    with pytest.raises(CommandError, match="too slow"):
        import_account(download(TWO), "--into-existing")
    assert raw.zcard("updates:1") == 0
    monkeypatch.undo()
    monkeypatch.setattr("timeline.account_data.restoring.time.sleep", lambda seconds: None)
    import_account(download(TWO), "--into-existing")
    assert [text for _, _, text in posts_of(raw, 1)] == ["sooner", "later"]


# ---- `import_account` brings back replies, quotes, earlier texts, and what the person did with posts, people and
# tags.


ALICE, BOB, CAROL = 1, 2, 3
THERE = 4  # alice's uid on the other site


@pytest.fixture
def path(store, raw, alice, bob, carol, tmp_path):
    """A download of alice's. Bob wrote 1 and 2, carol 3, and alice 4 to 8."""
    write_posts(raw, BOB, [1, 2])
    write_posts(raw, CAROL, [3])
    posts = Posts(store)
    posts.publish(ALICE, NewPost("well, @bob #redis", reply_to=1), "4")
    posts.publish(ALICE, NewPost("and more", reply_to=4), "5")
    posts.publish(ALICE, NewPost("look", quote=2), "6")
    posts.publish(ALICE, NewPost("no, @carol", reply_to=3), "7")
    posts.publish(ALICE, NewPost("see there", quote=3), "8")
    posts.edit(ALICE, 5, "and even more #Redis")
    for pid, author in ((1, BOB), (3, CAROL), (4, ALICE)):
        Likes(store).like(ALICE, pid, author)
        Bookmarks(store).add(ALICE, pid, author)
    register(store, "dave")
    BlockedPeople(store).block(ALICE, 4)
    Mutes(store).mute(ALICE, BOB)
    Mutes(store).mute_reposts(ALICE, BOB, in_days(7))
    MutedWords(store).mute(ALICE, MutedWord("the finale", Where.HOME, How.FOLD, FOREVER), ())
    TagFollows(store).follow(ALICE, "redis")
    TagFollows(store).follow(ALICE, "unheard")
    HomeTags(store).add(ALICE, "redis")
    Pins(store).pin(ALICE, 6)
    found = tmp_path / "download.jsonl"
    address = "https://retwis.example/@{}/{}/"
    found.write_bytes(export(store, alice.user, lambda name, *of: address.format(*of, "")).read())
    return str(found)


def make_another_site(raw, store):
    """Bob and dave are there, with other uids, and bob's two posts. Post 3 is another's."""
    empty(raw)
    for name in ("erin", "Bob", "dave"):
        register(store, name)
    write_posts(raw, 2, [1, 2])
    write_posts(raw, 1, [3])
    raw.set("next_post_id", 50)


@pytest.fixture
def elsewhere(raw, store, path, typed):
    make_another_site(raw, store)
    typed(f"{PASSWORD}\n")


def links(raw, pid):
    return raw.hmget(f"post:{pid}", "reply_to", "root", "reply_to_user", "above", "quote", "mentions")


def test_replies_and_quotes_of_posts_that_are_there_keep_what_they_name(raw, elsewhere, path, capsys):
    import_account(path)
    assert links(raw, 4) == ["1", "1", "2", "1", None, "2"]
    assert links(raw, 5) == ["4", "1", str(THERE), "4 1", None, None]
    assert links(raw, 6) == [None, None, None, None, "2", None]
    assert raw.zrange("thread:1", 0, -1) == ["4", "5"]
    assert raw.hmget("post:1", "replies", "quotes") == ["1", None]
    assert raw.hget("post:2", "quotes") == "1"
    assert_conversations_agree(raw, "restored")
    assert doctor(capsys) == (0, {}, {})


def test_what_is_not_there_is_said(raw, elsewhere, path, capsys):
    import_account(path)
    said = capsys.readouterr().out
    assert links(raw, 7) == [None, None, None, None, None, ""]  # nobody has the name carol
    assert links(raw, 8) == [None] * 6
    assert "1 replies are plain posts now: what they reply to is not here." in said
    assert "1 posts quote nothing any more: what they quote is not here." in said
    assert "2 lines (like, bookmark) are of posts that are not here." in said
    assert "1 followed tags are used by nobody here." in said


def test_earlier_texts_and_tags_come_back(raw, elsewhere, path):
    import_account(path)
    assert list(raw.hgetall("edits:5").values()) == ["and more", "and even more #Redis"]
    assert raw.hget("post:5", "body") == "and even more #Redis"
    assert raw.hget("post:5", "edited") == max(raw.hkeys("edits:5"))
    assert raw.zrange("tag:redis", 0, -1) == ["4", "5"]


def test_what_the_person_did_comes_back_with_its_dates(raw, elsewhere, path):
    import_account(path)
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["1", "4"]
    assert raw.zrange(f"bookmarks:{THERE}", 0, -1) == ["1", "4"]
    assert raw.zrange("liked_by:1", 0, -1) == [str(THERE)]
    assert raw.hget("post:1", "likes") == "1"
    assert raw.zrange(f"blocked:{THERE}", 0, -1) == ["3"]
    assert raw.zrange("blocked_by:3", 0, -1) == [str(THERE)]
    assert raw.zscore(f"muted:{THERE}", "2") == float("inf")
    assert raw.zscore(f"muted_reposts:{THERE}", "2") > time.time()
    assert raw.zrange(f"muted_words:{THERE}", 0, -1) == ["home fold the finale"]
    assert raw.zrange(f"tags_of:{THERE}", 0, -1) == ["redis"]
    assert raw.zrange(f"home_tags:{THERE}", 0, -1) == ["redis"]
    assert raw.zrange("homes_of_tag:redis", 0, -1) == [str(THERE)]
    assert raw.hget(f"user:{THERE}", "pinned") == "6"
    assert raw.zcard("outbox") == 0


def test_nothing_is_done_to_posts_of_those_who_block_the_account(raw, store, elsewhere, path, capsys):
    """The site refuses all of it to the person, too."""
    register(store, "Alice")
    BlockedPeople(store).block(2, THERE)
    import_account(path, "--into-existing")
    said = capsys.readouterr().out
    assert links(raw, 4) == [None, None, None, None, None, "2"]
    assert links(raw, 6) == [None] * 6
    assert raw.hmget("post:1", "likes", "replies", "quotes") == [None] * 3
    assert raw.zrange(f"likes:{THERE}", 0, -1) == raw.zrange(f"bookmarks:{THERE}", 0, -1) == ["4"]
    assert "2 replies are plain posts now: what they reply to is not here." in said


def test_an_action_before_the_post_was_written_was_on_another_post(raw, elsewhere, path):
    raw.hset("post:1", "time", int(time.time()) + 60)
    import_account(path)
    assert raw.hget("post:4", "reply_to") is None
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["4"]


def test_threads_of_one_s_own_are_kept_under_new_ids(raw, elsewhere, path, capsys):
    write_posts(raw, 1, [4, 5])
    import_account(path)
    assert links(raw, 51)[:4] == ["1", "1", "2", "1"]
    assert links(raw, 52)[:4] == ["51", "1", str(THERE), "51 1"]
    assert raw.zrange(f"likes:{THERE}", 0, -1) == ["1", "51"]
    assert doctor(capsys) == (0, {}, {})


def before_likes(monkeypatch, happens):
    """`happens` comes in the middle of an import: the posts are there, the likes and the pinned post are not."""
    to_posts = RestoredRelations.to_posts
    monkeypatch.setattr(RestoredRelations, "to_posts", lambda *given: (happens(), to_posts(*given))[1])


def test_a_pinned_post_that_is_deleted_during_the_import_stays_away(raw, store, elsewhere, path, capsys, monkeypatch):
    """The import ended with a traceback."""
    before_likes(monkeypatch, lambda: Posts(store).delete(THERE, 6))
    import_account(path)
    assert "User Alice has 5 posts more." in capsys.readouterr().out
    assert raw.hget(f"user:{THERE}", "pinned") is None


@pytest.mark.parametrize("removed", [False, True])
def test_an_account_that_is_deleted_during_the_import_is_told(raw, store, path, capsys, monkeypatch, removed):
    """The import said how many posts the account has, or ended with a traceback."""
    make_another_site(raw, store)
    alice = register(store, "Alice")

    def deleted():
        delete_account(store, alice)
        if removed:
            drain_due(store, raw)

    before_likes(monkeypatch, deleted)
    with pytest.raises(CommandError, match="During the import the account was deleted"):
        import_account(path, "--into-existing")
    drain_due(store, raw)
    assert doctor(capsys)[:2] == (0, {})
    assert [key for key in raw.keys(f"*:{THERE}") if key != f"post:{THERE}"] == [f"user:{THERE}"]


def test_mutes_that_have_ended_stay_away(raw, store, bob, alice, carol, tmp_path):
    raw.zadd("muted:1", {"2": LONG_AGO, "3": "inf"})
    raw.zadd("muted_reposts:1", {"3": LONG_AGO})
    raw.zadd("muted_words:1", {"home fold ended": LONG_AGO})
    path = tmp_path / "download.jsonl"
    path.write_bytes(export(store, bob.user, lambda *of: "").read())
    raw.delete("muted:1", "muted_reposts:1", "muted_words:1")
    import_account(str(path), "--into-existing")
    assert raw.keys("muted*") == ["muted:1"]
    assert raw.zrange("muted:1", 0, -1) == ["3"]


def test_a_second_import_changes_nothing(raw, elsewhere, path, capsys):
    import_account(path)
    raw.hset(f"user:{THERE}", "pinned", 4)
    before = everything(raw)
    import_account(path, "--into-existing")
    assert everything(raw) == before


def test_a_killed_run_is_completed_by_a_worker_and_by_the_next_run(raw, store, elsewhere, path, capsys):
    register(store, "Alice")
    for number in each_moment(0, 3 * stride()):
        killed_before_round_trip(number, lambda: import_account(path, "--into-existing"))
        a_minute_passes(raw)
        for job in raw.zrange("outbox", 0, -1):
            raw.zadd("outbox", {job: LONG_AGO})
        drain(store, "a worker")
        assert doctor(capsys)[:2] == (0, {}), number
        import_account(path, "--into-existing")
        assert doctor(capsys)[:2] == (0, {}), number
        assert_conversations_agree(raw, number)
        assert raw.zcard("thread:1") == 2, number
        make_another_site(raw, store)
        register(store, "Alice")
    assert number > 50


@pytest.mark.parametrize(
    ("address", "author"),
    [
        *(("https://a.example/@Bob/7/", "bob"), ("/@Bob/8/", ""), ("", ""), ("https://a.example/@B%C3%B6b/7/", "böb")),
        ("https://a.example/@a%252Fb%2525/7/", "a/b%"),
        *(("https://[/@Bob/8/", ""), (f"/@Bob/{'7' * 5000}/", ""), ("/@Bob/²/", ""), ("/@Bob/٧/", "")),
    ],
)
def test_the_author_of_a_named_post_is_in_its_address(address, author):
    assert named(7, address) == NamedPost(7, author)
