"""Staff removes the picture or the header of a person, and nothing else. The job has the line of the log too, so a
worker can do all of it again."""

from contextlib import suppress

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log, read_act
from accounts.media.profiles import Kind
from accounts.media.repository import Pictures
from accounts.users.entities import Refused
from accounts.users.repository import Users, forget
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store

BLOCKED = "blocked"  # in the name of the job: nobody may upload it again


class NotShown(Refused):
    message = _("This picture is no longer on the profile.")


def remove_by_staff(store: Store, uid: int, kind: Kind, digest: str, by: int, reason: str, blocks: bool) -> None:
    """Remove a picture from a profile; with `blocks`, nobody may upload it again, or one that looks nearly the same.
    Seven round trips. Raises NotShown."""
    if not digest or store.hget(keys.user(uid), kind) != digest:
        raise NotShown
    act = Act(what=f"{kind}:removed", by=by, whom=uid, reason=reason)
    job = Outbox(store).add(f"staff_profile:{uid}:{kind}:{digest}:{BLOCKED if blocks else ''}:{act.line()}")
    with suppress(LeaseEnded):
        _remove(job.store, job.name)
        job.done()


def finish_removal(store: Store, claim: Claim) -> None:
    """The job `staff_profile:<uid>:<kind>:<digest>:<blocked>:<line of the log>`."""
    _remove(store, claim.name)
    claim.outbox.done(claim.name)


def _remove(store: Store, job: str) -> None:
    """The commit is the HDEL. The hash of a picture to be blocked is read before it is gone."""
    uid = job_id(job, 1)
    _job, _uid, kind, digest, blocked, line = job.split(":", 5)
    act = read_act("outbox", line)
    if act is None:
        return
    if blocked:
        Pictures(store).block(digest)
    if store.hget(keys.user(uid), kind) == digest:
        Users(store).take_back(uid, [kind])
        forget(uid)
    Pictures(store).release(uid, [digest])
    Log(store).write(act)
