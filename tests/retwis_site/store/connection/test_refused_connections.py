"""Servers and sentinels that refuse the site: a 503, and a log line that names the fix and no secret."""

import pytest
from django.conf import settings as configured

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.stores import acl_users, topologies

WRONG = "no-such:password"
SECRETS = ["such:password", *acl_users.PASSWORDS.values(), acl_users.credentials(acl_users.SITE)]


@pytest.fixture
def refusal(browser, caplog):
    """`refusal("text")` opens a page, which must be a 503. Its log line must have these texts, and no password."""

    def open_page(*texts):
        caplog.clear()
        assert browser().get("/timeline/").status_code == 503
        [line] = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
        assert [text for text in texts if text not in line] == [], line
        assert [secret for secret in SECRETS if secret in line] == []
        assert browser().get("/readyz").status_code == 503
        return line

    return open_page


# ---- sentinels


@pytest.fixture
def sentinel_user(settings, moved):
    """`sentinel_user("name", "password")`: the site signs in to the sentinels as this user."""

    def use(username, password):
        settings.REDIS_SENTINEL_USERNAME, settings.REDIS_SENTINEL_PASSWORD = username, password
        moved(settings.REDIS_URL)

    return use


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
def test_sentinels_refuse_a_wrong_user_or_password(refusal, sentinel_user, username, password):
    sentinel_user(username, password)
    refusal("sentinel 127.0.0.1:", "REDIS_SENTINEL_PASSWORD", "REDIS_SENTINEL_USERNAME")


@pytest.mark.sentinel
def test_sentinels_refuse_a_user_without_the_right_to_ask(refusal, moved):
    clients = [topologies.administrator(port) for port in configured.SENTINELS]
    for client in clients:
        client.execute_command("ACL", "SETUSER", acl_users.SITE, "-sentinel")
    try:
        moved(configured.REDIS_URL)
        refusal("permission", "REDIS_SENTINEL_USERNAME")
    finally:
        for client in clients:
            client.execute_command("ACL", "SETUSER", acl_users.SITE, "+sentinel|masters")


@pytest.mark.sentinel
def test_sentinels_with_only_a_password_need_no_user(browser, sentinel_user):
    sentinel_user("", acl_users.PASSWORDS[acl_users.ADMIN])
    assert browser().get("/timeline/").status_code == 200


@pytest.mark.sentinel
def test_sentinels_do_not_know_the_service(refusal, settings, moved):
    settings.REDIS_SENTINEL_SERVICE = "another"
    moved(settings.REDIS_URL)
    refusal("knows no primary named 'another'", "Set REDIS_SENTINEL_SERVICE")


@pytest.mark.sentinel
def test_the_primary_refuses_a_wrong_password(refusal, moved):
    moved(configured.REDIS_URL.replace(acl_users.credentials(), f"{acl_users.SITE}:{WRONG}@"))
    assert "SENTINEL" not in refusal("Give REDIS_URL a user and password")


@pytest.mark.sentinel
def test_the_url_names_a_server_instead_of_sentinels(refusal, settings, moved):
    settings.REDIS_SENTINEL_USERNAME = settings.REDIS_SENTINEL_PASSWORD = ""
    [server] = settings.SERVERS
    server.client.execute_command("ACL", "SETUSER", acl_users.ADMIN, "nopass")
    try:
        moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
        refusal(f"127.0.0.1:{server.port} is no sentinel")
    finally:
        server.client.execute_command(
            "ACL", "SETUSER", acl_users.ADMIN, "resetpass", f">{acl_users.PASSWORDS[acl_users.ADMIN]}"
        )


# ---- a cluster


@pytest.mark.cluster
@pytest.mark.parametrize("credentials", [f"{acl_users.SITE}:{WRONG}@", "nobody:x@", ""])
def test_a_cluster_refuses_a_wrong_user_or_password(refusal, moved, credentials):
    moved(configured.REDIS_URL.replace(acl_users.credentials(), credentials))
    refusal("127.0.0.1:", "Give REDIS_URL a user and password")


@pytest.mark.cluster
def test_the_error_names_the_server_of_a_cluster_that_refuses_the_site(store, rights, moved, raw):
    (server, *_) = configured.SERVERS
    server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "resetpass", ">another")
    moved(configured.REDIS_URL)
    replies = {}
    for uid in range(50):
        holder = raw.nodes_manager.get_node_from_slot(raw.keyslot(f"user:{uid}")).port
        try:
            replies[holder] = connect().hget(f"user:{uid}", "username")
        except StoreError as error:
            replies[holder] = str(error)
    refusal = replies.pop(server.port)
    assert set(replies.values()) == {None}
    assert f"127.0.0.1:{server.port}" in refusal
    assert "that all servers know" in refusal


@pytest.mark.cluster
def test_a_cluster_refuses_a_user_without_the_right_to_ask_for_the_slot_map(refusal, rights, moved):
    rights("-cluster")
    moved(configured.REDIS_URL)
    refusal("permission", "docs/redis.md")


@pytest.mark.cluster
def test_a_user_lacks_a_right_on_some_servers_of_a_cluster(store, rights):
    for server in configured.SERVERS[1:]:
        server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "-hget")
    replies = set()
    for uid in range(50):
        try:
            replies.add(store.hget(f"user:{uid}", "username"))
        except StoreError as error:
            replies.add(str(error))
    assert len(replies) == 2
    replies.remove(None)
    assert "Give the site's user all rights that docs/redis.md lists, on every server." in replies.pop()


@pytest.mark.cluster
def test_the_url_names_a_server_that_is_not_in_a_cluster(refusal, moved, tmp_path):
    server = topologies.Server(tmp_path, *topologies.free_ports(1), users=acl_users.lines())
    with topologies.running([server]):
        server.client.execute_command("ACL", "SETUSER", acl_users.SITE, "+cluster|slots")
        moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
        refusal("REDIS_TOPOLOGY=cluster needs servers with `cluster-enabled yes`.")


@pytest.mark.cluster
def test_the_url_names_a_server_of_a_cluster_where_a_single_server_is_expected(settings, moved):
    settings.REDIS_TOPOLOGY = "server"
    moved(settings.REDIS_URL.split(",")[0])
    errors = set()
    for uid in range(50):
        try:
            connect().hget(f"user:{uid}", "username")
        except StoreError as error:
            errors.add(str(error))
    assert errors
    assert all("set REDIS_TOPOLOGY=cluster." in error for error in errors)
