"""Who sees the inspector. It is on where a site is tried out, and off elsewhere, unless INSPECT says otherwise."""

import os

import pytest
from django.conf import settings as site_settings
from django.core.management import call_command

from tests.support.processes.fresh_process import run_code
from tests.support.second_factors import Authenticator
from tests.support.texts.inspector import inspector


def test_a_site_with_a_store_of_its_own_has_no_inspector(browser, alice):
    assert not site_settings.INSPECT
    assert inspector(browser(alice).get("/")) is None


@pytest.mark.usefixtures("inspected")
def test_everybody_sees_it_on_a_machine_of_their_own(browser, alice):
    assert inspector(browser().get("/timeline/"))
    assert inspector(browser(alice).get("/"))


@pytest.fixture(params=["a public name", "a proxy", "another host"])
def open_to_others(request, settings):
    if request.param == "a public name":
        settings.PUBLIC = True
    elif request.param == "a proxy":
        settings.TRUSTED_PROXIES = 1
    else:
        settings.CSRF_TRUSTED_ORIGINS = ["https://retwis.example"]


@pytest.mark.usefixtures("inspected", "open_to_others")
def test_where_others_reach_the_site_only_staff_sees_it(browser, raw, alice, bob):
    raw.hset("user:1", "role", "moderator")
    raw.hset("staff", "1", "moderator")
    assert inspector(browser(alice).get("/"))
    assert inspector(browser(bob).get("/")) is None
    assert inspector(browser().get("/timeline/")) is None


@pytest.mark.usefixtures("inspected", "open_to_others")
def test_staff_without_the_second_factor_that_the_site_requires_does_not_see_it(browser, raw, store, alice):
    raw.hset("user:1", "role", "moderator")
    raw.hset("staff", "1", "moderator")
    call_command("site", "second_factor=staff", verbosity=0)
    assert inspector(browser(alice).get("/")) is None
    Authenticator().add(store)
    client = browser(alice)
    assert inspector(client.get("/"))


@pytest.mark.usefixtures("inspected")
@pytest.mark.parametrize(
    "sent", [{"REMOTE_ADDR": "192.0.2.7"}, {"REMOTE_ADDR": ""}, {"HTTP_X_FORWARDED_FOR": "192.0.2.7"}]
)
def test_who_comes_from_elsewhere_does_not_see_it(browser, alice, sent):
    assert inspector(browser(alice).get("/", **sent)) is None


@pytest.mark.usefixtures("inspected", "open_to_others")
def test_nothing_is_kept_of_the_forms_of_others(browser, raw, alice, bob):
    browser(alice).post("/@bob/follow/")
    assert not raw.keys("inspected:*")


SHOWS = """
from retwis_site import settings
print(settings.INSPECT)
"""
UNSET = ("INSPECT", "REDIS_URL", "ALLOWED_HOSTS", "HTTPS", "RETWIS_ENV_FILE")


@pytest.mark.parametrize(
    ("given", "is_on"),
    [
        ({}, True),
        ({"INSPECT": "0"}, False),
        ({"REDIS_URL": "redis://127.0.0.1:1"}, False),
        ({"REDIS_URL": "redis://127.0.0.1:1", "INSPECT": "1"}, True),
        ({"ALLOWED_HOSTS": "retwis.example", "EMBEDDED": "1"}, False),
        ({"HTTPS": "1", "EMBEDDED": "1"}, False),
        ({"HTTPS": "1", "INSPECT": "1"}, True),
    ],
)
def test_it_is_on_where_a_site_is_tried_out(tmp_path, given, is_on):
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment |= {"VAR_DIR": str(tmp_path), "SECRET_KEY": "only for tests", **given}
    assert run_code(SHOWS, environment).stdout.split() == [str(is_on)]
