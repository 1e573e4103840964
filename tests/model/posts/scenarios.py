"""Scenarios of posts: two or three changes at once, each with a worker, and up to two crashes.

A worker starts when the owner of its job has ended or died, as the lease demands.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.model.core import Database, Explorer, Process, Steps
from tests.model.posts.checks import check, seen_in
from tests.model.posts.protocol import Posting
from tests.model.posts.small_site import ANN, BO, CY, POST, begin, database


@dataclass
class Scenario:
    """`changes`: the processes, as in `database`; ("lapse", pid): the hash of a deleted post expires,
    after the process "b" that deletes it has ended. The others may still be at work."""

    name: str
    db: Database
    changes: tuple[tuple, ...]
    crashes: int = 2
    workers: bool = True
    expects: Callable[[Database], bool] = field(default=lambda _: True)  # when nothing has died
    fails_by_design: bool = False

    def explorer(self, protocol: Posting) -> Explorer:
        processes = [_process(protocol, name, change) for name, change in zip("abcd", self.changes, strict=False)]
        if self.workers:
            processes += [_worker(protocol, process.name) for process in processes if process.can_die]
        return Explorer(processes, self.db, self.crashes)

    def check(self, protocol: Posting) -> Callable[[Database, bool], list[str]]:
        def errors(db: Database, died: bool) -> list[str]:
            lost = [] if died or self.expects(db) else ["a change is lost"]
            return check(db, died, protocol) + lost

        return errors


def _process(protocol: Posting, name: str, change: tuple) -> Process:
    if change[0] == "lapse":
        return Process("expiry", lambda: _lapse(change[1]), after=("b",), can_die=False)
    return Process(name, lambda: begin(protocol, name, *change))


def _worker(protocol: Posting, owner: str) -> Process:
    return Process(f"worker of {owner}", lambda: protocol.worker(owner, f"{owner}2"), after=(owner,))


def _lapse(pid: int) -> Steps:
    yield ("LAPSE", f"post:{pid}")


def has_text(pid: int, *texts: str) -> Callable[[Database], bool]:
    return lambda db: seen_in(db, pid).text in texts


def has_texts(pid: int, number: int) -> Callable[[Database], bool]:
    return lambda db: len(seen_in(db, pid).texts) == number


def scenarios() -> list[Scenario]:
    reply, other_reply, quote = ("reply", ANN, 20, POST), ("reply", CY, 21, POST), ("quote", ANN, 30, POST)
    delete, delete_reply = ("delete", BO, POST), ("delete", ANN, 20)
    none, replied = database(), database(reply)
    tombstone = database(reply, delete)
    two_stones = database(reply, ("reply", CY, 40, 20), delete, delete_reply)
    return [
        Scenario("reply || deletion of the parent", none, (reply, delete)),
        Scenario("two replies || deletion of the parent", none, (reply, other_reply, delete), 1, workers=False),
        Scenario("two replies", none, (reply, other_reply)),
        Scenario("publishing || deletion of the new post", none, (("publish", ANN, 20, "b"), delete_reply)),
        Scenario("reply || deletion of the reply", none, (reply, delete_reply)),
        Scenario("deletion of the only reply || deletion of the parent", replied, (delete_reply, delete)),
        Scenario("deletion of the only reply || another reply", replied, (delete_reply, other_reply)),
        Scenario(
            "deletion of the last reply of a tombstone || an answer to that reply",
            tombstone,
            (delete_reply, ("reply", CY, 40, 20)),
        ),
        Scenario(
            "late reply || deletion of the parent || deletion of its last reply",
            replied,
            (other_reply, delete, delete_reply),
            1,
            workers=False,
        ),
        Scenario("deletion of the last reply below two tombstones", two_stones, (("delete", CY, 40),)),
        Scenario(
            "two last replies of a tombstone are deleted",
            database(reply, other_reply, delete),
            (delete_reply, ("delete", CY, 21)),
        ),
        Scenario("quote || deletion of the quoted", none, (quote, delete)),
        Scenario("quote || deletion of the quote", none, (quote, ("delete", ANN, 30))),
        Scenario("deletion || deletion", replied, (delete, delete)),
        Scenario("edit || deletion", none, (("edit", BO, POST, "b", 5), delete)),
        Scenario(
            "edit || edit", none, (("edit", BO, POST, "b@", 5), ("edit", BO, POST, "c", 5)), expects=has_texts(POST, 3)
        ),
        Scenario(
            "edit || edit with an earlier clock",
            none,
            (("edit", BO, POST, "b@", 6), ("edit", BO, POST, "c", 4)),
            expects=has_text(POST, "b@", "c"),
        ),
        Scenario(
            "edit || edit || deletion",
            none,
            (("edit", BO, POST, "b", 5), ("edit", BO, POST, "c", 5), delete),
            1,
            workers=False,
        ),
        Scenario("edit of a reply || deletion of the parent", replied, (("edit", ANN, 20, "b", 5), delete)),
        Scenario("reply || edit of the parent", none, (reply, ("edit", BO, POST, "b", 5))),
        Scenario("reply || deletion of its author", none, (reply, ("leave", ANN))),
        Scenario("publishing || deletion of its author", none, (("publish", ANN, 20, "b"), ("leave", ANN))),
        Scenario("reply || deletion of the parent's author", none, (reply, ("leave", BO))),
        Scenario("edit || deletion of the author", none, (("edit", BO, POST, "b", 5), ("leave", BO))),
        Scenario("deletion || deletion of the author", replied, (delete, ("leave", BO))),
        Scenario("reply || deletion || expiry", none, (reply, delete, ("lapse", POST)), 1, workers=False),
        Scenario("quote || deletion || expiry", none, (quote, delete, ("lapse", POST)), 1, workers=False),
        Scenario(
            "edit || deletion || expiry", none, (("edit", BO, POST, "b", 5), delete, ("lapse", POST)), 1, workers=False
        ),
    ]
