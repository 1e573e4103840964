"""What of reports goes with a deleted account.

The reports about the person go altogether, with the texts of their posts: nobody is left to be judged. The reports that
the person has made stay for the staff, without the name and without the note.
"""

from collections.abc import Iterator

from retwis_site.store import keys
from retwis_site.store.chunks import emptied
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids, whole
from timeline.moderation.reports.repository import Reports, forget_all_but_member


def remove_reports(store: Store, uid: int) -> Iterator[None]:
    """Remove the reports about a deleted account, and the name from those by it, in chunks."""
    key = keys.reports_about(uid)
    for members in emptied(store, key):
        for report in Reports(store).some(stored_ids(key, members)).values():
            forget_all_but_member(store, report.rid, report.who)  # the members go last: they lead here
        _remove_members(store, key, members)
        yield
    key = keys.reports_by(uid)
    for members in emptied(store, key):
        scores = store.zmscore(key, members)
        pipe = store.pipeline()
        for rid in (whole(score) for score in scores if score is not None):
            for field in ("who", "note"):
                pipe.hdel(keys.report(rid), field)
        pipe.execute()
        _remove_members(store, key, members)
        yield


def _remove_members(store: Store, key: str, members: list[str]) -> None:
    pipe = store.pipeline()
    for member in members:
        pipe.zrem(key, member)
    pipe.execute()


def at_work_about(uid: int, member: str) -> set[str]:
    """The beginnings of the jobs that may be at work on a report about a user."""
    return {f"gone:{uid}", f"report:{member}"}


def at_work_by(uid: int, member: str) -> set[str]:
    """The same of a report by a user."""
    return {f"gone:{uid}", f"report:{member.rpartition(':')[2]}"}
