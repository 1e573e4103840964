"""The Redis user of docs/redis.md has exactly the rights that the code needs."""

import re
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.management import call_command

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store import kinds
from retwis_site.store.client import connect
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import add_overdue_job
from tests.support.stores import acl_users

REGISTRATION = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
CHANGE = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


def sent_by_the_code():
    """Every command in the source, as ACL rules name it: first those of `commands.py`, in its order."""
    root = Path(settings.BASE_DIR)
    others = [path for name in ("retwis_site", "accounts", "timeline") for path in sorted((root / name).rglob("*.py"))]
    source = "\n".join(path.read_text() for path in (root / "retwis_site/store/commands.py", *others))
    calls = re.findall(r"(?:self|server|return pipe)\.send\(\s*(.*)", source)
    commands = [re.match(r'"([A-Z]+)"(?:, "([A-Z]+)")?', call) for call in calls]
    assert all(commands), calls
    return list(dict.fromkeys("|".join(filter(None, command.groups())).lower() for command in commands))


# ---- the document and the code


def test_the_documented_line_follows_from_the_key_table_and_the_code():
    keys = [f"~{pattern}" for pattern in kinds.KINDS]
    commands = [f"+{command}" for command in sent_by_the_code() if command != "config|get"]  # acl_users.advice_only
    password = f">{acl_users.PASSWORDS[acl_users.SITE]}"
    assert acl_users.rules() == ["on", password, "resetchannels", *keys, "-@all", *commands]


# ---- the server


@pytest.mark.real_server
def test_the_site_signs_in_as_the_documented_user(store, raw):
    store.set_ex("health", "1", 60)
    assert acl_users.SITE in {client["user"] for client in raw.client_list()}
    assert store.transport.client.connection_pool.connection_kwargs["username"] == acl_users.SITE


@pytest.mark.real_server
@pytest.mark.parametrize(
    "command",
    [
        ("KEYS", "*"),
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("CONFIG", "SET", "appendonly", "no"),
        ("CONFIG", "GET", "requirepass"),
        ("EVAL", "return 1", "0"),
        ("MULTI",),
        ("SHUTDOWN", "ABORT"),
        ("ACL", "WHOAMI"),
        ("SUBSCRIBE", "users"),
        ("SELECT", "1"),
        ("GET", "foreign"),
        ("SET", "user", "x"),
        ("HGET", "auths:1", "x"),
        ("UNLINK", "other:users"),
    ],
    ids=" ".join,
)
def test_what_the_site_does_not_need_is_refused(store, raw, command):
    raw.set("foreign", "of another program")
    with pytest.raises(redis.exceptions.NoPermissionError):
        store.transport.client.execute_command(*command)
    assert raw.get("foreign") == "of another program"


@pytest.mark.real_server
@pytest.mark.parametrize("rules", [["-zadd"], ["resetkeys", "~auths", "~user:*"]], ids=["a command", "its keys"])
def test_a_missing_right_is_a_503_that_keeps_the_text_and_shows_no_secret(alice, member, raw, rights, caplog, rules):
    rights(*rules)
    response = member.post("/post/", {"body": "typed & kept", "token": "t-1"})
    assert response.status_code == 503
    assert "typed &amp; kept</textarea>" in response.content.decode()
    assert raw.zcard("outbox") == 0
    (line,) = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
    assert "permission" in line
    for secret in (alice.secret, "typed", "t-1", *acl_users.PASSWORDS.values()):
        assert secret not in line


@pytest.mark.real_server
def test_a_missing_right_is_a_store_refused_for_repositories(store):
    with pytest.raises(StoreRefused, match=r"the store refused GET: .*permission"):
        store.get("foreign")


@pytest.mark.real_server
def test_a_wrong_password_is_a_503_that_does_not_repeat_it(browser, moved):
    moved(acl_users.url(settings.STORE_DIR).replace("site", "nobody"))
    assert browser().get("/timeline/").status_code == 503
    with pytest.raises(StoreError) as caught:
        connect().get("health")
    assert "nobody" not in str(caught.value)
    assert "password" in str(caught.value)


@pytest.mark.real_server
def test_web_processes_and_the_worker_do_not_need_the_commands_of_management(browser, alice, raw, rights):
    commands = acl_users.management_only()
    assert {"scan"} <= set(commands) <= set(sent_by_the_code())
    rights(*(f"-{command.partition('|')[0]}" for command in commands))  # Redis 6.2 takes no subcommand away
    dora = browser()
    for url, form in [
        ("/register/", REGISTRATION),
        ("/post/", {"body": "hello", "token": "t"}),
        ("/@Alice/follow/", {}),
        ("/@Alice/unfollow/", {}),
        ("/@Dora/1/delete/", {}),
        ("/settings/", {"name": "Dora the first", "bio": "An explorer."}),
        ("/settings/password/", CHANGE),
        ("/logout/", {}),
        ("/login/", {"username": "dora", "password": NEW_PASSWORD}),
    ]:
        assert dora.post(url, form).status_code == 302, url
    browser(alice).post("/post/", {"body": "readable", "token": "t"})
    for url in ("/", "/timeline/", "/@Alice/", "/@Alice/2/", "/@Alice/followers/", "/@Alice/following/", "/readyz"):
        assert dora.get(url).status_code == 200, url
    assert dora.get("/settings/download/").status_code == 200
    assert dora.post("/settings/delete/", {"password": NEW_PASSWORD}).status_code == 302
    add_overdue_job(raw, "post:2:abc")
    call_command("deliver", "--once")
    assert raw.hgetall(f"user:{raw.hget('users', 'dora')}").keys() == {"username", "deleted"}
    assert raw.zcard("outbox") == 0
    assert raw.zcard("set_aside") == 0


@pytest.mark.real_server
@pytest.mark.one_server
def test_the_error_of_a_refused_dump_names_dump(store, rights):
    rights("-dump")
    with pytest.raises(StoreRefused, match="refused DUMP"):
        store.dump("users")
