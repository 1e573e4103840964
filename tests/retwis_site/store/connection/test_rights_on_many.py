"""The Redis users of docs/redis.md on several servers: they have the rights that are needed, and no others."""

import pytest
import redis
from django.conf import settings
from django.core.management import call_command

from retwis_site.exceptions import StoreRefused
from retwis_site.store.client import connect
from tests.support.people import PASSWORD
from tests.support.stores import acl_users, topologies
from tests.support.stores.cluster_moves import on_its_way

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
