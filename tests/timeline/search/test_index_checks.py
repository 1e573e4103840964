"""`doctor` finds posts that a search misses, and `cleanup` what the index no longer uses."""

from functools import partial

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from retwis_site.store.ids import LARGEST_ID
from tests.support.command_output import findings_of, report_of
from tests.support.stored_keys import publish
from tests.support.stores.indexed_posts import posts_under, write_post
from tests.support.stores.seam import killed_before_write
from timeline.search import rebuilding
from timeline.search.rebuilding import IndexChecks

pytestmark = pytest.mark.indexed


@pytest.fixture
def of_cats(raw, store, alice):
    """Post 1 is about dogs, post 2 about cats. The keys in which nothing but post 2 stands."""
    publish(raw, store, alice, "walking dogs")
    drain(store, "w1")
    before = set(raw.keys("postings:*"))
    publish(raw, store, alice, "sleeping cats")
    drain(store, "w1")
    return set(raw.keys("postings:*")) - before


def found(store):
    return [one.what for one in findings_of(store, IndexChecks(store).inconsistencies())]


def test_a_healthy_store_has_no_findings(store, of_cats):
    assert found(store) == []


def test_a_post_without_some_of_its_records_is_found_and_written_again(raw, store, of_cats):
    raw.delete(of_cats.pop())
    assert found(store) == ["a search misses post:2"]
    with pytest.raises(SystemExit):
        call_command("doctor", verbosity=0)
    call_command("doctor", fix=True, verbosity=0)
    assert found(store) == []
    assert posts_under(store, "cat") == {2}


@pytest.mark.parametrize("left", [1, 2, 3, 5])
def test_posts_behind_a_record_that_was_cut_are_found_after_one_repair(raw, store, of_cats, left):
    for key in raw.keys("postings:*"):
        raw.set(key, bytes(left))
    assert len(found(store)) == 2
    call_command("doctor", fix=True, verbosity=0)
    assert found(store) == []


def test_a_text_that_was_changed_without_a_job_is_found(raw, store, of_cats):
    raw.hset("post:1", "body", "walking birds")
    assert found(store) == ["a search misses post:1"]


def test_a_post_that_was_never_published_is_none(raw, store, of_cats):
    write_post(raw, 3, "birds")
    assert found(store) == []


@pytest.mark.parametrize(
    "explain",
    [
        lambda raw: raw.hset("post:2", "deleted", "1700000000"),
        lambda raw: raw.zadd(keys.outbox("index:2:ab"), {"index:2:ab": 1}),
        lambda raw: raw.zadd(keys.outbox("edit:2:1:ab"), {"edit:2:1:ab": 1}),
        lambda raw: raw.hset("search_index", "reindexed", "0"),
        lambda raw: raw.hset("search_index", "reindexed", LARGEST_ID),
        lambda raw: raw.delete(*raw.keys("posting*")),
    ],
    ids=["deleted", "a job", "an edit", "reindex has begun", "reindex has nearly ended", "no index at all"],
)
def test_what_explains_missing_records_is_no_finding(raw, store, of_cats, explain):
    raw.delete(of_cats.pop())
    explain(raw)
    assert found(store) == []


def test_two_runs_look_up_the_same_posts_from_the_first_to_the_last(raw, store, of_cats, monkeypatch):
    for pid in range(3, 102):
        write_post(raw, pid, "birds")
    looked_up = []
    monkeypatch.setattr(rebuilding, "SAMPLE", 10)
    monkeypatch.setattr(IndexChecks, "_missed", lambda self, pids: looked_up.extend(pids) or [])
    assert found(store) == found(store) == []
    assert looked_up == [*range(1, 102, 11)] * 2


def test_a_post_of_the_sample_that_is_missed_asks_for_a_reindex_also_after_a_repair(
    raw, store, of_cats, monkeypatch, capsys
):
    monkeypatch.setattr(rebuilding, "SAMPLE", 1)
    write_post(raw, 1, "walking birds")
    raw.delete(*of_cats)
    assert found(store) == ["a search may miss others, too: run `manage.py reindex`", "a search misses post:1"]
    assert advice_of(capsys, "--fix") == ["A `reindex` has not ended: searches miss some posts."]
    assert (posts_under(store, "bird"), posts_under(store, "cat")) == ({1}, set())
    call_command("reindex", verbosity=0)
    assert (posts_under(store, "cat"), advice_of(capsys)) == ({2}, [])
    assert raw.hget("search_index", "reindexed") is None


def advice_of(capsys, *options, part="text"):
    report = report_of(capsys, *options)[1]
    return [one[part] for one in report["advice"] if one["id"] == "retwis.W017"]


def test_doctor_says_when_there_is_no_index(raw, store, of_cats, capsys):
    assert advice_of(capsys) == []
    raw.delete(*raw.keys("posting*"))
    assert advice_of(capsys) == ["There is no index of the search: searches find no post."]
    call_command("reindex", verbosity=0)
    assert advice_of(capsys) == []


def test_a_store_without_posts_needs_no_index(raw, store, alice, capsys):
    assert advice_of(capsys) == []


def test_doctor_says_when_a_reindex_has_not_ended(raw, store, of_cats, capsys):
    raw.hset("search_index", "reindexed", "0")
    assert advice_of(capsys) == ["A `reindex` has not ended: searches miss some posts."]


def test_doctor_says_so_also_while_a_killed_reindex_still_has_its_lease(raw, store, of_cats, capsys):
    """As after an import that was killed at its end: a second one is refused, since the site is whole."""
    raw.delete(*raw.keys("posting*"))
    assert killed_before_write(2, partial(call_command, "reindex", verbosity=0))
    assert raw.exists("lease:reindex")
    assert advice_of(capsys) == ["A `reindex` has not ended: searches miss some posts."]
    assert "run `manage.py reindex` in 60 seconds" in advice_of(capsys, part="hint")[0]


def test_a_wrong_type_does_not_stop_the_advice(raw, store, of_cats, capsys):
    raw.set("search_index", "x")
    assert advice_of(capsys) == []


def test_keys_of_ranges_that_are_none_are_removed_by_cleanup(raw, store, of_cats):
    raw.append("postings:5:1", b"abcd")
    call_command("cleanup", verbosity=0)
    assert raw.exists("postings:5:1") == 0
    assert of_cats < set(raw.keys("postings:*"))


def test_an_index_without_the_bits_of_its_ranges_is_none(raw, store, of_cats, capsys):
    """An older version has written it."""
    raw.delete(*raw.keys("posting_bits:*"))
    assert found(store) == []
    assert advice_of(capsys) == ["There is no index of the search: searches find no post."]


def test_a_post_whose_range_lacks_a_bit_is_found_and_written_again(raw, store, of_cats):
    key = of_cats.pop().replace("postings:", "posting_bits:")
    raw.delete(key)
    assert found(store) == ["a search misses post:2"]
    call_command("doctor", fix=True, verbosity=0)
    assert found(store) == []
    assert raw.exists(key)
