"""What joining may leave behind, whatever died or came between."""

import json

from django.core.management import call_command

from accounts.community.acts import APPROVED, REFUSED
from accounts.community.log import Log
from accounts.joining.joining import Invitations
from retwis_site.store.client import Store


def assert_sound(raw) -> None:
    """`doctor` finds no error; what is left is harmless, and `cleanup` removes it."""
    call_command("doctor", verbosity=0)
    call_command("cleanup", verbosity=0)
    if raw.hlen("users"):  # in a store without names, `cleanup` leaves hashes of users alone
        assert set(raw.keys("user:*")) == {f"user:{uid}" for uid in raw.hvals("users")}


def assert_uses_are_accounts(store: Store, raw, code: str) -> None:
    """Each use is of a user who was invited, and no more people came in than the invitation lets in."""
    [key] = raw.keys("uses:*") or ["uses:none"]
    invited = {uid for uid in raw.hvals("users") if raw.hexists(f"user:{uid}", "invited_by")}
    assert set(raw.zrange(key, 0, -1)) == invited
    by = int(code.partition("-")[0])
    assert sum(one.left for one in Invitations(store).open([by])) == int(raw.hget(f"invites:{by}", code)) - len(invited)
    assert raw.ttl(key) > 0 or not invited


def assert_one_answer(store: Store, raw) -> str:
    """The account, the application and the log tell the same answer. Returns it; empty while the application waits."""
    acts = [act for act in Log(store).page()[0] if act.what in {APPROVED, REFUSED}]
    uid, text = raw.hget("users", "dora"), raw.hget("applications", "dora")
    assert [field for field in raw.hkeys("applications") if field != "dora"] == []
    assert len(acts) <= 1
    assert raw.zcard("applicants") == (text is not None and json.loads(text)["refused"] == 0)
    if not acts:
        assert uid is None
        assert json.loads(text)["refused"] == 0
        return ""
    [act] = acts
    if act.what == APPROVED:
        assert (text, act.whom) == (None, int(uid))
        assert raw.hget(f"user:{uid}", "approved") == act.id
        assert raw.zrange(f"acts:{uid}", 0, -1) == [act.line()]
    else:
        assert (uid, act.whom, act.reason) == (None, 0, "@Dora We are full.")
        assert json.loads(text)["reason"] == "We are full."
        assert json.loads(text)["refused"] == act.when
    return act.what
