"""`post ID --delete`: staff deletes anybody's post, and the log has it also after a crash."""

import pytest
from django.core.management import CommandError, call_command

from accounts.community.log import Log
from retwis_site.jobs.worker import drain
from tests.support.command_output import said
from tests.support.stored_keys import publish
from tests.support.stores.key_layouts import make_due, noted
from tests.support.stores.seam import killed_before_round_trip
from timeline.posts.writing.deletion import delete_by_staff

ALICE, BOB = 1, 2


@pytest.fixture
def site(store, raw, alice, bob):
    publish(raw, store, bob, "Buy now!")
    return raw


def test_a_post_is_printed_and_deleted_and_the_log_says_why(site, store, capsys):
    assert "text: Buy now!\n" in said(capsys, "post", "1")
    assert said(capsys, "post", "1", "--delete", "--reason", "spam") == "Post 1 is deleted.\n"
    assert site.hget("post:1", "deleted") is not None
    [act] = Log(store).about(BOB).acts
    assert (act.what, act.post, act.whom, act.by, act.reason) == ("post:deleted", 1, BOB, 0, "spam")
    assert noted(site) == []


@pytest.mark.parametrize(("pid", "complaint"), [("x", "is no id"), ("99", "There is no post 99")])
def test_what_is_no_post_is_not_deleted(site, pid, complaint):
    with pytest.raises(CommandError, match=complaint):
        call_command("post", pid, "--delete")
    with pytest.raises(CommandError, match=complaint):
        call_command("post", pid)


def test_a_deleted_post_is_not_deleted_again(site, store):
    call_command("post", "1", "--delete", verbosity=0)
    with pytest.raises(CommandError, match="deleted already"):
        call_command("post", "1", "--delete")
    assert len(Log(store).page().acts) == 1
    assert noted(site) == []


@pytest.mark.parametrize("step", range(16))
def test_a_deletion_that_dies_before_any_round_trip_is_finished_with_its_line_or_never_was(site, store, step):
    killed_before_round_trip(step, lambda: delete_by_staff(store, 1, ALICE, "spam"))
    for _ in range(2):
        make_due(site)
        drain(store, "worker")
    assert noted(site) == []
    deleted = site.hget("post:1", "deleted")
    is_gone = deleted is not None
    assert is_gone == (step > 1)
    assert not is_gone or deleted.endswith(":staff")
    assert [act.post for act in Log(store).page().acts] == ([1] if is_gone else [])
