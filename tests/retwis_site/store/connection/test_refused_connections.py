"""Servers and sentinels that do not let the site in: a 503, and a line in the log that names the fix and no secret."""

import pytest
from django.conf import settings as configured

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.stores import acl_users, topologies

WRONG = "no-such:password"
SECRETS = ["such:password", *acl_users.PASSWORDS.values(), acl_users.credentials(acl_users.SITE)]


@pytest.fixture
def refusal(browser, caplog):
    """What the log says of a page, which is a 503; it tells no password."""

    def ask():
        caplog.clear()
        assert browser().get("/timeline/").status_code == 503
        [line] = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
        assert [secret for secret in SECRETS if secret in line] == []
        assert browser().get("/readyz").status_code == 503
        return line

    return ask


def with_password(password):
    """REDIS_URL, but for its password."""
    return configured.REDIS_URL.replace(acl_users.credentials(), f"{acl_users.SITE}:{password}@")


# ---- sentinels


@pytest.fixture
def sentinels_ask(settings, moved):
    """The site comes to the sentinels as somebody else."""

    def come(username, password):
        settings.REDIS_SENTINEL_USERNAME, settings.REDIS_SENTINEL_PASSWORD = username, password
        moved(settings.REDIS_URL)

    return come


@pytest.mark.sentinel
@pytest.mark.parametrize(
    ("username", "password"),
    [
        (acl_users.SITE, WRONG),
        ("nobody", acl_users.PASSWORDS[acl_users.SITE]),
        ("", acl_users.PASSWORDS[acl_users.SITE]),
        ("", ""),
    ],
    ids=["another password", "another user", "no user", "nothing"],
)
def test_sentinels_that_do_not_know_the_site(refusal, sentinels_ask, username, password):
    sentinels_ask(username, password)
    line = refusal()
    assert "sentinel 127.0.0.1:" in line
    assert "REDIS_SENTINEL_PASSWORD" in line
    assert "REDIS_SENTINEL_USERNAME" in line


@pytest.mark.sentinel
def test_a_user_of_the_sentinels_without_the_right_to_ask(refusal, moved):
    clients = [topologies.administrator(port) for port in configured.SENTINELS]
    for client in clients:
        client.execute_command("ACL", "SETUSER", acl_users.SITE, "-sentinel")
    try:
        moved(configured.REDIS_URL)
        line = refusal()
        assert "permission" in line
        assert "REDIS_SENTINEL_USERNAME" in line
    finally:
        for client in clients:
            client.execute_command("ACL", "SETUSER", acl_users.SITE, "+sentinel|masters")


@pytest.mark.sentinel
def test_sentinels_that_know_only_one_password_need_no_user(browser, sentinels_ask):
    sentinels_ask("", acl_users.PASSWORDS[acl_users.ADMIN])
    assert browser().get("/timeline/").status_code == 200


@pytest.mark.sentinel
def test_a_service_that_the_sentinels_do_not_know(refusal, settings, moved):
    settings.REDIS_SENTINEL_SERVICE = "another"
    moved(settings.REDIS_URL)
    line = refusal()
    assert "knows no primary named 'another'" in line
    assert "Set REDIS_SENTINEL_SERVICE" in line


@pytest.mark.sentinel
def test_a_primary_that_does_not_know_the_site(refusal, moved):
    moved(with_password(WRONG))
    line = refusal()
    assert "Give REDIS_URL a user and password" in line
    assert "SENTINEL" not in line


@pytest.mark.sentinel
def test_addresses_of_servers_where_sentinels_are_needed(refusal, settings, moved):
    settings.REDIS_SENTINEL_USERNAME = settings.REDIS_SENTINEL_PASSWORD = ""
    [server] = settings.SERVERS
    server.client.execute_command("ACL", "SETUSER", acl_users.ADMIN, "nopass")
    try:
        moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
        assert f"127.0.0.1:{server.port} is no sentinel" in refusal()
    finally:
        server.client.execute_command(
            "ACL", "SETUSER", acl_users.ADMIN, "resetpass", f">{acl_users.PASSWORDS[acl_users.ADMIN]}"
        )


# ---- a cluster


@pytest.mark.cluster
@pytest.mark.parametrize("credentials", [f"{acl_users.SITE}:{WRONG}@", "nobody:x@", ""])
def test_a_cluster_that_does_not_know_the_site(refusal, moved, credentials):
    moved(configured.REDIS_URL.replace(acl_users.credentials(), credentials))
    line = refusal()
    assert "127.0.0.1:" in line
    assert "Give REDIS_URL a user and password" in line


@pytest.mark.cluster
def test_one_server_of_a_cluster_that_does_not_know_the_site_is_named(store, rights, moved, raw):
    (server, *_) = configured.SERVERS
    server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "resetpass", ">another")
    moved(configured.REDIS_URL)
    answers = {}
    for uid in range(50):
        holder = raw.nodes_manager.get_node_from_slot(raw.keyslot(f"user:{uid}")).port
        try:
            answers[holder] = connect().hget(f"user:{uid}", "username")
        except StoreError as error:
            answers[holder] = str(error)
    mine = answers.pop(server.port)
    assert set(answers.values()) == {None}
    assert f"127.0.0.1:{server.port}" in mine
    assert "that all servers know" in mine


@pytest.mark.cluster
def test_a_user_without_the_right_to_ask_for_the_map(refusal, rights, moved):
    rights("-cluster")
    moved(configured.REDIS_URL)
    line = refusal()
    assert "permission" in line
    assert "docs/redis.md" in line


@pytest.mark.cluster
def test_a_user_without_a_right_on_one_server(store, rights):
    for server in configured.SERVERS[1:]:
        server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "-hget")
    said = set()
    for uid in range(50):
        try:
            said.add(store.hget(f"user:{uid}", "username"))
        except StoreError as error:
            said.add(str(error))
    assert len(said) == 2
    said.remove(None)
    assert "Give the site's user all rights that docs/redis.md lists, on every server." in said.pop()


@pytest.mark.cluster
def test_a_server_that_is_no_cluster(refusal, moved, tmp_path):
    server = topologies.Server(tmp_path, *topologies.free_ports(1), users=acl_users.lines())
    with topologies.running([server]):
        server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "+cluster|slots")
        moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
        assert "REDIS_TOPOLOGY=cluster needs servers with `cluster-enabled yes`." in refusal()


@pytest.mark.cluster
def test_a_cluster_where_one_server_is_expected(settings, moved):
    settings.REDIS_TOPOLOGY = "server"
    moved(settings.REDIS_URL.split(",")[0])
    said = set()
    for uid in range(50):
        try:
            connect().hget(f"user:{uid}", "username")
        except StoreError as error:
            said.add(str(error))
    assert said
    assert all("set REDIS_TOPOLOGY=cluster." in text for text in said)
