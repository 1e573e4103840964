"""`copy` and `adopt` of a store with bad values."""

import pytest
from django.core.management import call_command

from tests.support.maintenance import damaged_store
from tests.support.maintenance.copied_sites import copy, keys_to_copy
from tests.support.maintenance.damaged_store import NOT_IDS
from tests.support.maintenance.doctor_report import doctor
from tests.support.maintenance.official_database import AMELIA, make_official_database
from tests.support.stored_keys import everything

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.mark.parametrize("value", ["letters", "thousands of digits", "zero"])
def test_a_copy_has_the_bad_values_too(raw, source, capsys, value):
    damaged_store.add_members(source.raw, NOT_IDS[value])
    damaged_store.add_jobs(source.raw, NOT_IDS[value])
    copy(source)
    assert everything(raw) == keys_to_copy(source.raw)
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})


@pytest.mark.parametrize("value", NOT_IDS)
def test_an_official_database_with_bad_values_is_shown_and_adopted(raw, browser, settings, capsys, value):
    php = make_official_database(raw)
    bad = NOT_IDS[value]
    raw.hset("users", "ghost", bad)
    raw.hset("auths", damaged_store.SECRET, bad)
    raw.zadd("following:1", {bad: 5})
    raw.zadd("followers:1", {bad: "inf"})
    raw.zadd("users_by_time", {bad: "inf"})
    raw.hset("post:30", "user_id", bad)
    raw.lpush("posts:1", bad)
    raw.lpush("timeline", bad)
    client = browser()
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    for page in ("/", "/timeline/", "/@Amelia/", "/@Amelia/followers/", "/people/", "/sitemap-people.xml"):
        assert client.get(page).status_code == 200
    call_command("adopt", "--dry-run")
    call_command("adopt")
    assert doctor(capsys)[:2] == (0, {})
    assert raw.zrange("following:1", 0, -1) == ["2"]
    assert "Post number 28" in client.get("/").content.decode()
