"""A backup of several servers has a file of each, and is restored into any store."""

import pytest
from django.conf import settings

from tests.support.command_output import said
from tests.support.maintenance.backups import back_up, restore
from tests.support.maintenance.copied_sites import keys_to_copy, make_site_with_every_key, ttls
from tests.support.stored_keys import everything

pytestmark = [pytest.mark.cluster, pytest.mark.sentinel, pytest.mark.twemproxy, pytest.mark.usefixtures("may_sync")]


def test_every_key_of_every_server_comes_back(raw, store, tmp_path):
    make_site_with_every_key(raw, store)
    before, expiries = keys_to_copy(raw), ttls(raw)
    made = back_up(tmp_path)
    assert sorted(path.name for path in made.glob("*.rdb")) == [
        f"store-{number}.rdb" for number, _ in enumerate(settings.SERVERS, 1)
    ]
    raw.flushall()
    restore(made)
    assert everything(raw) == before
    assert ttls(raw) == expiries


def test_verify_gathers_all_servers(site, tmp_path, capsys):
    assert "`doctor` finds 0 errors in it." in said(capsys, "backup", str(tmp_path), "--verify")
