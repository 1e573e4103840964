"""A server behind a proxy comes back without its keys: `doctor` names it, and nothing removes the rest of the site."""

import pytest
from django.conf import settings as current
from django.core.management import call_command

from retwis_site.exceptions import NotDone
from retwis_site.maintenance import server_advice
from retwis_site.maintenance.server_advice import lost_keys, require_no_lost_keys
from tests.support.command_output import refuses, report_of
from tests.support.stored_keys import everything


class Behind:
    """A store of servers with so many keys."""

    def __init__(self, *sizes):
        self._sizes = sizes

    def servers(self):
        return [Holder(f"n{number}", size) for number, size in enumerate(self._sizes, 1)]


class Holder:
    def __init__(self, host, size):
        self._size = size
        self.transport = self
        self.connection_pool = self
        self.connection_kwargs = {"host": host}

    def servers(self):
        return [self]

    def dbsize(self):
        return self._size


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([3000, 0, 3000], ["n2:6379: The server has 0 keys, of 2000 expected."]),
        ([100, 9000, 0], ["n1:6379: The server has 100 keys", "n3:6379: The server has 0 keys"]),
        ([3000, 600, 3000], []),  # the servers need not be equally large
        ([30, 0, 30], []),  # a new site: its few keys may all be on the others
        # As many of 60 users and 240 posts were on eight servers: fnv1a_64 has nearly the same for short names.
        ([700, 20, 500, 0, 250, 400, 10, 120], []),
        ([0, 0, 0], []),
        ([3000], []),
    ],
)
def test_a_server_with_hardly_any_keys_has_lost_them(settings, sizes, told):
    settings.REDIS_TOPOLOGY = "twemproxy"
    found = lost_keys(Behind(*sizes))
    assert [piece.text[: len(text)] for piece, text in zip(found, told, strict=True)] == told
    assert {piece.id for piece in found} <= {"retwis.W021"}


def test_a_command_that_would_remove_the_rest_says_which_server_it_is(settings):
    settings.REDIS_TOPOLOGY = "twemproxy"
    require_no_lost_keys(Behind(3000, 3000))
    with pytest.raises(NotDone, match=r"Nothing was changed.* n2:6379: .* --accept-loss"):
        require_no_lost_keys(Behind(3000, 0))


@pytest.mark.parametrize("topology", ["server", "sentinel", "cluster"])
def test_without_a_proxy_no_server_is_asked(settings, topology):
    settings.REDIS_TOPOLOGY = topology
    assert lost_keys(None) == []


@pytest.fixture
def small(monkeypatch):
    """A site with fewer keys than it takes to tell, which is made in a second."""
    monkeypatch.setattr(server_advice, "ENOUGH", 50)


@pytest.mark.twemproxy
@pytest.mark.parametrize("number", range(3))
def test_all_is_there_again_when_the_server_has_its_files_again(raw, capsys, small, number):
    call_command("seed", "--users=40", "--posts=150", "--follows=5", verbosity=0)
    call_command("doctor", "--fix", verbosity=0)
    whole = everything(raw)
    server = current.SERVERS[number].client
    lost = {key: server.dump(key) for key in server.scan_iter()}
    server.flushall()
    refuses("Nothing was changed", "doctor", "--fix")
    refuses("Nothing was changed", "cleanup")
    refuses("Nothing was changed", "upgrade")  # which the site asks for where `schema` is among the lost keys
    call_command("cleanup", "--dry-run", verbosity=0)
    advice = [piece for piece in report_of(capsys)[1]["advice"] if piece["id"] == "retwis.W021"]
    assert [piece["text"].partition(": ")[0] for piece in advice] == [f"127.0.0.1:{current.SERVERS[number].port}"]
    for key, dumped in lost.items():
        server.restore(key, 0, dumped, replace=True)
    assert everything(raw) == whole
    assert report_of(capsys, "--fix")[0] == 0


@pytest.mark.twemproxy
def test_an_operator_without_files_and_backup_accepts_the_loss(raw, capsys, small):
    call_command("seed", "--users=40", "--posts=150", "--follows=5", verbosity=0)
    current.SERVERS[0].client.flushall()
    code, report = report_of(capsys, "--fix", "--accept-loss")
    assert (code, report["ok"]) == (0, True)
    call_command("cleanup", "--accept-loss", verbosity=0)
