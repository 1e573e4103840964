"""Everyone's timeline has no reposts: neither a rebuilt list has them, nor does `doctor` miss them there."""

import pytest

from tests.support.maintenance.doctor_report import doctor
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

ALICE, BOB = 1, 2


@pytest.fixture(params=["incr", "snowflake"], autouse=True)
def pid(request, store, settings, alice, bob):
    """A post of alice's."""
    settings.POST_IDS = request.param
    return Posts(store).publish(ALICE, NewPost("Hello"), "1").pid


def test_doctor_misses_no_repost_in_a_complete_list(store, browser, capsys, pid):
    browser().get("/timeline/")
    Reposts(store).repost(BOB, pid, ALICE)
    Posts(store).publish(ALICE, NewPost("again"), "2")
    assert doctor(capsys) == (0, {}, {})


def test_a_rebuilt_list_has_no_repost(store, raw, browser, capsys, pid):
    Reposts(store).repost(BOB, pid, ALICE)
    raw.delete("timeline")
    browser().get("/timeline/")
    assert [member for member in raw.lrange("timeline", 0, -1) if member.isdigit() and int(member) > 0] == [str(pid)]
    assert doctor(capsys) == (0, {}, {})
