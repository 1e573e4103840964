"""A server without memory refuses to add, and removes all the same. No job is lost by that."""

import contextlib

import pytest
import redis

from retwis_site.exceptions import StoreReadOnly
from retwis_site.jobs.outbox import Outbox
from tests.support.delivering import drain_due
from tests.support.removed_accounts import home_texts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

FULL = redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")


@pytest.fixture
def out_of_memory(store, monkeypatch):
    """`with out_of_memory("fan:"):` from the ZADD of such a job on, the server adds nothing more."""
    real = store.transport.exchange

    @contextlib.contextmanager
    def from_job_on(kind):
        full = False

        def exchange(queued):
            nonlocal full
            full = full or any(command[0] == "ZADD" and str(command[3]).startswith(kind) for command, _ in queued)
            accepted = [one for one in queued if not full or one[0][0] != "ZADD"]
            replies = iter(real(accepted))
            return [next(replies) if one in accepted else FULL for one in queued]

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(store.transport, "exchange", exchange)
            yield

    return from_job_on


def test_a_job_that_cannot_be_handed_over_stays(store, raw, out_of_memory):
    job = Outbox(store).add("del:1:1:a")
    with out_of_memory("del:1:1:b"), pytest.raises(StoreReadOnly):
        job.replace("del:1:1:b")
    assert raw.zrange("outbox", 0, -1) == ["del:1:1:a"]
    job.replace("del:1:1:b")
    assert raw.zrange("outbox", 0, -1) == ["del:1:1:b"]


def test_a_post_for_many_comes_to_all_homes(store, alice, bob, raw, settings, out_of_memory):
    settings.DELIVER_INLINE_LIMIT = 0
    Follows(store).follow(2, 1)
    home_texts(store, bob)
    with out_of_memory("fan:"), pytest.raises(StoreReadOnly):
        Posts(store).publish(1, NewPost("Hello"), "t")
    assert Posts(store).publish(1, NewPost("Hello"), "t").body == "Hello"  # the form is sent again
    drain_due(store, raw)
    assert home_texts(store, bob) == ["Hello"]
