"""What `doctor` and `cleanup` find of sessions, and what they do about it."""

import pytest

from accounts.signing_in.sessions.entities import MOST_SESSIONS
from accounts.signing_in.viewer import Viewer
from tests.support.command_output import doctor_findings, said
from tests.support.people import log_in

pytestmark = pytest.mark.usefixtures("alice")


def test_a_healthy_site_has_nothing_to_find(store, capsys):
    log_in(store)
    errors, debris = doctor_findings(capsys)
    assert not any((errors | debris).values())


def test_a_session_that_auths_lacks_is_restored(store, raw, capsys):
    login = log_in(store)
    raw.hdel("auths", login.secret)
    assert doctor_findings(capsys)[0]["sessions that auths lacks"] == 1
    assert login.secret not in said(capsys, "doctor", "--fix")
    assert Viewer(store, login.secret).user.is_authenticated


def test_a_session_that_auths_gives_to_another_user_goes(store, raw, bob, capsys):
    login = log_in(store)
    raw.hset("auths", login.secret, "2")
    said(capsys, "doctor", "--fix")
    assert not raw.hexists("user:1", f"session:{login.secret}")
    assert not Viewer(store, login.secret).user.is_authenticated


def test_sessions_beyond_the_number_that_is_allowed_end(store, raw, capsys):
    kept = [log_in(store) for _ in range(MOST_SESSIONS)]
    for number in range(3):
        raw.hset("user:1", f"session:extra{number}", "1::Firefox:Linux")
        raw.hset("auths", f"extra{number}", "1")
    assert doctor_findings(capsys)[0]["users with too many sessions"] == 1
    said(capsys, "doctor", "--fix")
    assert all(Viewer(store, login.secret).user.is_authenticated for login in kept)
    assert not [name for name in (*raw.hkeys("user:1"), *raw.hkeys("auths")) if "extra" in name]


def test_what_ended_sessions_leave_is_removed(store, raw, capsys):
    login = log_in(store)
    raw.hset("user:1", mapping={"session:old": "1:earlier:Firefox:Linux", "used:other": "3600", "used:old": "3600"})
    raw.hset("auths", mapping={"old": "1", "nobody": "99", "nothing": "1"})
    errors, debris = doctor_findings(capsys)
    assert not any(errors.values())
    assert (debris["stale entries in auths"], debris["fields of ended sessions"]) == (2, 1)
    out = said(capsys, "cleanup", verbosity=2)
    assert "nothing" not in out.lower().replace("pictures that nothing shows", "")
    assert Viewer(store, login.secret).user.is_authenticated
    left = [name for name in raw.hkeys("user:1") if name.startswith(("session:", "used:"))]
    assert left == [f"session:{login.secret}"]
    assert raw.hlen("auths") == 2
