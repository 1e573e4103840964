"""Each command first says on stderr which store it works on, without any password."""

import json
import string
from urllib.parse import quote

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import override_settings
from hypothesis import given, strategies as st

from retwis_site.store.connection.topology import described
from tests.support.processes.processes import environment, manage


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"REDIS_URL": "redis://retwis:pw@db.example:6379/1"}, "redis://retwis@db.example:6379/1"),
        ({"REDIS_URL": "rediss://:pw@db.example"}, "rediss://db.example/0"),
        ({"REDIS_URL": "redis://[::1]:7000?db=2&password=pw"}, "redis://[::1]:7000/2"),
        ({"REDIS_URL": "unix://me:pw@/run/redis.sock?db=3"}, "unix://me@/run/redis.sock?db=3"),
        (
            {"REDIS_TOPOLOGY": "cluster", "REDIS_URL": "redis://me:pw@one, redis://me:pw@two:7000"},
            "the cluster of redis://me@one/0, redis://me@two:7000/0",
        ),
        (
            {
                "REDIS_TOPOLOGY": "sentinel",
                "REDIS_URL": "redis://me:pw@one,redis://two",
                "REDIS_SENTINEL_SERVICE": "retwis",
                "REDIS_SENTINEL_USERNAME": "me",
                "REDIS_SENTINEL_PASSWORD": "pw",
            },
            "the primary retwis of the sentinels redis://me@one/0, redis://two/0",
        ),
        (
            {"REDIS_TOPOLOGY": "twemproxy", "REDIS_URL": "redis://:pw@proxy", "REDIS_NODES": ["redis://me:pw@one"]},
            "the proxy redis://proxy/0 before redis://me@one/0",
        ),
        ({"REDIS_URL": "", "VAR_DIR": "/srv/retwis/var"}, "embedded, in /srv/retwis/var/store"),
        ({"REDIS_URL": "redis://one", "REDIS_KEY_PREFIX": "blog:"}, "redis://one/0, keys with the prefix 'blog:'"),
    ],
)
def test_the_store_is_described(settings, changes, text):
    settings.REDIS_TOPOLOGY, settings.REDIS_KEY_PREFIX = "server", ""
    for name, value in changes.items():
        setattr(settings, name, value)
    assert described() == text


# The text around the password has none of these characters, so a part of the password that is printed is found.
secret_characters = string.digits.replace("6", "").replace("0", "") + "XYZ"
raw_passwords = st.text(secret_characters + "/?#:@%[]&=+ \n,", min_size=1).filter(
    lambda text: any(char in secret_characters for char in text)
)
forms = st.sampled_from(
    [
        "redis://me:{}@db.example:6600/0",
        "rediss://:{}@db.example",
        "unix://me:{}@/run/redis.sock",
        "redis://db.example/0?password={}",
        "redis://me:{}@one,redis://me:{}@two:6600",
    ]
)


def assert_no_password(url, topology):
    changes = {"REDIS_URL": url, "REDIS_TOPOLOGY": topology, "REDIS_KEY_PREFIX": "", "REDIS_SENTINEL_SERVICE": "s"}
    with override_settings(**changes, REDIS_SENTINEL_PASSWORD="XYZ", REDIS_NODES=[url]):
        try:
            text = described()
        except ImproperlyConfigured as error:
            text = str(error).replace("6379", "")
    assert not set(text) & set(secret_characters), text
    assert "\n" not in text


topologies = st.sampled_from(["server", "cluster", "sentinel", "twemproxy"])


@given(form=forms, password=raw_passwords, topology=topologies)
def test_no_part_of_a_password_is_printed(form, password, topology):
    assert_no_password(form.replace("{}", quote(password, safe="")), topology)


@given(form=forms, password=raw_passwords, topology=topologies)
def test_no_part_of_a_password_that_should_have_been_quoted_is_printed(form, password, topology):
    """`/`, `?` or `#` end the host too early: `redis://me:12/34@db` is port 12 of the host `me` to redis-py."""
    assert_no_password(form.replace("{}", password), topology)


def test_json_on_stdout_stays_json(raw, capsys):
    call_command("doctor", "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["ok"]
    assert printed.err == f"Store: {described()}\n"


def test_verbosity_0_is_silent(raw, capsys):
    call_command("doctor", verbosity=0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.one_server
@pytest.mark.parametrize("command", [("seed",), ("shell", "-c", "pass"), ("deliver", "--once")], ids=" ".join)
def test_the_line_comes_first_also_when_the_store_does_not_answer(tmp_path, command):
    ended = manage(*command, env=environment(tmp_path, REDIS_URL="redis://me:hidden@127.0.0.1:1/2"))
    assert ended.stderr.splitlines()[0] == "Store: redis://me@127.0.0.1:1/2"
    assert "hidden" not in ended.stdout + ended.stderr
