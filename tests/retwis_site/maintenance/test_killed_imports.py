"""An import that is killed anywhere completes when it is run again."""

import contextlib

import pytest
from django.core.management import CommandError, call_command

from retwis_site.exceptions import StoreError
from retwis_site.maintenance.filling import Filling
from retwis_site.store import schema
from retwis_site.store.client import connect
from tests.support.command_output import doctor, refuses
from tests.support.maintenance.site_files import export, import_
from tests.support.maintenance.stopped_runs import check_stopped_runs
from tests.support.people import register
from tests.support.stored_keys import empty, everything
from tests.support.stores.seam import before_round_trip, each_moment, killed_before_round_trip, stride
from timeline.posts.repository import Posts


def without_secrets(raw):
    return {
        key: {field: text for field, text in content.items() if field != "auth"} if key.startswith("user:") else content
        for key, content in everything(raw).items()
        if key != "auths"
    }


@pytest.mark.usefixtures("no_waiting")
def test_a_run_killed_before_any_command_is_completed_by_the_next(full_site, tmp_path, capsys):
    path = tmp_path / "site.jsonl"
    export(path)
    empty(full_site)
    import_(path)
    whole = without_secrets(full_site)
    for number in each_moment(0, stride()):
        empty(full_site)
        if not killed_before_round_trip(number, lambda: import_(path)):
            break
        full_site.delete("lease:filling")  # some seconds later
        if full_site.get("next_user_id") in {"copying", None}:
            import_(path)
        else:  # only the search does not know all posts yet
            refuses("killed at its end, the site is whole: `manage.py doctor` says", "import", str(path))
            full_site.delete("lease:reindex")  # a minute later
            call_command("reindex", verbosity=0)
        assert without_secrets(full_site) == whole
        assert full_site.hlen("auths") == 3
    assert number > 15
    assert doctor(capsys) == (0, {}, {})


def test_nothing_of_another_file_stays_after_a_killed_run(full_site, tmp_path):
    path, other = tmp_path / "site.jsonl", tmp_path / "other.jsonl"
    export(path)
    for pid in (1, 3):
        full_site.delete(f"post:{pid}")
    full_site.delete("following:2", "followers:1", "users_by_followers")
    export(other, damaged=True)
    empty(full_site)
    import_(other)
    whole = without_secrets(full_site)
    empty(full_site)
    number = 0
    while not full_site.exists("post:1"):
        assert killed_before_round_trip(number, lambda: import_(path))
        full_site.delete("lease:filling")  # some seconds later
        number += 1
    import_(other)
    assert without_secrets(full_site) == whole


@pytest.mark.parametrize("step", ["write", "finish"])
def test_a_run_that_was_taken_for_dead_ends_when_another_has_begun(full_site, tmp_path, monkeypatch, step):
    """It would give the ids once more that people have got since the other one has ended."""
    path, real = tmp_path / "site.jsonl", getattr(Filling, step)
    export(path)
    empty(full_site)

    def after_another_run(self, given):
        monkeypatch.setattr(Filling, step, real)
        import_(path)
        full_site.incr("next_user_id")
        return real(self, given)

    monkeypatch.setattr(Filling, step, after_another_run)
    before = full_site.get("next_user_id")
    refuses("Another import, copy or restore into this store has begun", "import", str(path))
    assert before is None
    assert full_site.get("next_user_id") == str(full_site.hlen("users") + 1)
    assert full_site.hlen("auths") == 3


def test_a_run_that_was_stopped_changes_nothing_of_the_site_that_another_has_made(full_site, tmp_path, monkeypatch):
    """Somebody stops it with Ctrl-Z at any moment, and runs it again elsewhere. People use the site by then."""
    path = tmp_path / "site.jsonl"
    export(path)

    def another():
        import_(path)
        Posts(connect()).delete(1, 1)

    check_stopped_runs(full_site, monkeypatch, lambda: import_(path), another)


@pytest.mark.usefixtures("no_waiting")
def test_no_run_begins_in_the_commit_of_another(full_site, tmp_path, monkeypatch):
    """It would remove what the other one then says is imported, and leave the counters of a whole site."""
    path, mark = tmp_path / "site.jsonl", schema.mark
    export(path)
    empty(full_site)
    import_(path)
    whole = without_secrets(full_site)
    empty(full_site)

    def mark_in_between(store):
        refuses("another process is changing this", "import", str(path))
        mark(store)

    monkeypatch.setattr(schema, "mark", mark_in_between)
    import_(path)
    assert without_secrets(full_site) == whole


def test_who_registers_while_a_run_begins_is_refused_or_stays(full_site, tmp_path):
    """The site runs on the empty store, with its gate: it looks before each round trip."""
    path, refused, stayed = tmp_path / "site.jsonl", 0, 0
    export(path)

    def dora_registers():
        site.gate.close()
        with contextlib.suppress(StoreError):
            return register(site, "dora")

    for number in range(12):
        empty(full_site)
        connect.cache_clear()
        site = connect()
        with before_round_trip(number, dora_registers) as dora, contextlib.suppress(CommandError):
            import_(path)
        has_registered = any(dora)
        assert full_site.hexists("users", "dora") == has_registered, number
        refused += not has_registered
        stayed += has_registered
    assert refused
    assert stayed
