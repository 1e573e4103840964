"""A run that fills a store is stopped for a minute, and another one makes the site meanwhile."""

from contextlib import suppress
from itertools import chain
from types import SimpleNamespace

from django.core.management import CommandError

from retwis_site.jobs import lease
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import UNFINISHED
from tests.support.stored_keys import everything
from tests.support.stores.seam import before_round_trip, each_moment, stride

FIRST = 30  # of the round trips: in these a run removes what the killed one has left, so each of them is tried


def check_stopped_runs(raw, monkeypatch, run, another):
    """Stop `run` before one of its round trips after the other, in a store that a killed run has left. It must change
    nothing of what `another` makes while it is stopped."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def meanwhile():
        raw.delete("lease:filling", "lease:reindex")  # some seconds later
        another()
        clock.now += 60
        return everything(raw)

    for moment in chain(range(FIRST), each_moment(FIRST, stride())):
        for key in raw.keys():  # noqa: SIM118  a client, not a dict; the source may be in the same server
            raw.delete(key)
        Memory.clear_all()
        raw.set("next_user_id", UNFINISHED)
        raw.set("post:77", "left")
        with before_round_trip(moment, meanwhile) as whole, suppress(CommandError):
            run()
        assert whole in ([], [everything(raw)]), moment
    assert moment > 20
