"""The Redis users of docs/redis.md have exactly the rights that the code needs, on one server and on several."""

import re

import pytest
import redis
from django.conf import settings
from django.core.management import call_command

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store import kinds
from retwis_site.store.client import connect
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import add_overdue_job
from tests.support.stores import acl_users, topologies
from tests.support.stores.cluster_moves import on_its_way

REGISTRATION = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
CHANGE = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


def sent_by_the_code():
    """Every command in the source, as ACL rules name it: first those of `commands.py`, in its order."""
    root = settings.BASE_DIR
    others = [path for name in ("retwis_site", "accounts", "timeline") for path in sorted((root / name).rglob("*.py"))]
    source = "\n".join(path.read_text() for path in (root / "retwis_site/store/commands.py", *others))
    calls = re.findall(r"(?:self|server|return pipe)\.send\(\s*(.*)", source)
    commands = [re.match(r'"([A-Z]+)"(?:, "([A-Z]+)")?', call) for call in calls]
    assert all(commands), calls
    return list(dict.fromkeys("|".join(filter(None, command.groups())).lower() for command in commands))


# ---- the document and the code


def test_the_documented_line_follows_from_the_key_table_and_the_code():
    keys = [f"~{kind.pattern}" for kind in kinds.KINDS.values()]
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


# ---- on several servers


NOT_NEEDED = [
    ("KEYS", "*"),
    ("FLUSHALL",),
    ("CONFIG", "GET", "requirepass"),
    ("ACL", "WHOAMI"),
    ("REPLICAOF", "NO", "ONE"),
    ("CLUSTER", "NODES"),
    ("CLUSTER", "FAILOVER"),
    ("READONLY",),
    ("COMMAND",),
    ("PSYNC", "?", "-1"),
    ("PUBLISH", "__sentinel__:hello", "x"),
]


@pytest.fixture
def refused():
    """`refused()`: the commands that the servers have refused since its last call, or since the test began."""

    def read_logs():
        return [entry for server in settings.SERVERS for entry in server.refused()]

    read_logs()
    return read_logs


def use_everything(browser):
    client = browser()
    form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/register/", form).status_code == 302
    assert client.post("/post/", {"body": "hello", "token": "t"}).status_code == 302
    for url in ("/", "/timeline/", "/@Dora/", "/readyz"):
        assert client.get(url).status_code == 200
    for command in (["deliver", "--once"], ["doctor"], ["cleanup"]):
        call_command(*command, verbosity=0)


@pytest.mark.cluster
@pytest.mark.sentinel
def test_no_command_of_the_site_is_refused(browser, moved, refused):
    moved(settings.REDIS_URL)
    use_everything(browser)
    assert {client["user"] for server in settings.SERVERS for client in server.client.client_list()} >= {acl_users.SITE}
    assert refused() == []


@pytest.mark.cluster
@pytest.mark.sentinel
@pytest.mark.parametrize("command", NOT_NEEDED, ids=" ".join)
def test_commands_that_the_site_does_not_need_are_refused_by_every_server(store, command):
    for server in store.transport.servers():
        with pytest.raises(redis.exceptions.NoPermissionError):
            server.execute_command(*command)


@pytest.mark.cluster
def test_the_additional_commands_of_a_cluster_are_needed(store, raw, rights, moved):
    assert acl_users.cluster_only() == ["cluster|slots", "asking"]
    rights("-asking")
    with on_its_way(raw, "user:7"), pytest.raises(StoreRefused, match=r"'asking' command.*docs/redis.md"):
        store.hget("user:7", "username")
    rights("+asking", "-cluster|slots")
    moved(settings.REDIS_URL)
    with pytest.raises(StoreRefused, match="cluster"):
        connect().hget("user:7", "username")


@pytest.mark.sentinel
@pytest.mark.parametrize("command", ["FAILOVER retwis", "RESET *", "CONFIG GET *", "SENTINELS retwis"])
def test_the_site_may_only_ask_the_sentinels_for_the_primary(command):
    user = {"username": settings.REDIS_SENTINEL_USERNAME, "password": settings.REDIS_SENTINEL_PASSWORD}
    for port in settings.SENTINELS:
        with redis.Redis(port=port, decode_responses=True, **user) as sentinel:
            assert topologies.SERVICE in sentinel.sentinel_masters()
            with pytest.raises(redis.exceptions.NoPermissionError):
                sentinel.execute_command("SENTINEL", *command.split())


@pytest.mark.sentinel
@pytest.mark.cluster
def test_the_documented_users_of_replicas_and_sentinels_cannot_read_keys(raw):
    raw.set("users", "x")
    for user in (acl_users.REPLICA, acl_users.SENTINEL):
        for server in settings.SERVERS:
            allowed = server.client.acl_getuser(user)
            assert "-@all" in allowed["categories"]
            assert not allowed["keys"]
            client = redis.Redis(port=server.port, username=user, password=acl_users.PASSWORDS[user])
            with client, pytest.raises(redis.exceptions.NoPermissionError):
                client.get("users")
