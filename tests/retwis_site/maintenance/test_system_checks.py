"""System checks: the topology, the sign-in cookie, and the settings of the server."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from retwis_site.checks import settings_are_right, sign_in_cookie_is_safe
from retwis_site.store.connection.topology import described, transport as transport_of
from retwis_site.store.kinds import KINDS, PREFIX
from tests.support.processes.processes import environment, manage
from tests.support.stores import acl_users, topologies


def retwis_messages(capsys, *arguments):
    """The lines of `manage.py check` about the store."""
    capsys.readouterr()
    call_command("check", "--tag=store", *arguments)
    printed = capsys.readouterr()
    return [line for line in (printed.out + printed.err).splitlines() if "retwis." in line]


def test_check_finds_nothing(capsys):
    call_command("check")
    assert capsys.readouterr().out == "System check identified no issues (0 silenced).\n"


def test_an_unknown_limit_is_an_error(settings):
    settings.THROTTLES = {"pots": 3}
    with pytest.raises(SystemCheckError, match=r"retwis\.E001.* THROTTLE_POTS is not known.* THROTTLE_POST,"):
        call_command("check")


HOSTS = "redis://site:hidden@one:6379,redis://two:6379"


@pytest.mark.parametrize(
    ("topology", "changes", "fix"),
    [
        ("server", {"REDIS_URL": HOSTS}, "needs one address"),
        ("server", {"REDIS_URL": "tcp://site:hidden@one:6379"}, "is not the address of a Redis server"),
        ("server", {"REDIS_URL": "redis://site:hidden@one:6379/one"}, "is not the address of a Redis server"),
        ("server", {"REDIS_URL": "rediss://site:hidden@one?ssl_ca_cert=ca"}, "behind its `?` is not known"),
        ("server", {"REDIS_URL": "redis://site:hidden@one?ssl_ca_certs=ca"}, "behind its `?` is not known"),
        ("cluster", {"REDIS_URL": "rediss://site:hidden@one?ssl_cert_reqs=hidden"}, "behind its `?` is not known"),
        ("server", {"REDIS_URL": "redis://:hidden@one?maint_notifications_config=x"}, "behind its `?` is not known"),
        ("server", {"REDIS_URL": "redis://site:hidden@one?socket_read_size=-1"}, "behind its `?` is not known"),
        ("server", {"REDIS_URL": "redis://site:hidden@one?protocol=3"}, "Take `protocol` out of REDIS_URL"),
        ("server", {"REDIS_URL": "rediss://site:hidden@one?ssl_ca_certs=/no/ca.pem"}, "cannot read /no/ca.pem"),
        ("cluster", {"REDIS_URL": "rediss://site:hidden@one?ssl_keyfile=/no/key.pem"}, "REDIS_URL has as ssl_keyfile"),
        ("cluster", {"REDIS_URL": "redis://site:hidden@one?protocol=3"}, "Take `protocol` out of REDIS_URL"),
        ("sentinel", {"REDIS_URL": HOSTS, "REDIS_SENTINEL_SERVICE": ""}, "needs REDIS_SENTINEL_SERVICE"),
        ("sentinel", {"REDIS_URL": "unix://site:hidden@/run/redis.sock"}, "no unix:// socket"),
        ("sentinel", {"REDIS_URL": HOSTS, "REDIS_SENTINEL_USERNAME": "site"}, "needs REDIS_SENTINEL_PASSWORD"),
        ("cluster", {"REDIS_URL": ""}, "needs REDIS_URL"),
        ("cluster", {"REDIS_URL": "unix://site:hidden@/run/redis.sock"}, "no unix:// socket"),
        ("cluster", {"REDIS_URL": "redis://site:hidden@one:6379/1"}, "one database"),
        ("twemproxy", {"REDIS_URL": "redis://one:6379", "REDIS_NODES": []}, "needs REDIS_NODES"),
        ("twemproxy", {"REDIS_URL": "redis://one:6379", "REDIS_NODES": ["one:hidden"]}, "REDIS_NODES is not"),
    ],
)
def test_an_incomplete_topology_is_an_error_without_passwords(settings, topology, changes, fix):
    settings.REDIS_TOPOLOGY = topology
    settings.REDIS_SENTINEL_SERVICE, settings.REDIS_SENTINEL_USERNAME, settings.REDIS_SENTINEL_PASSWORD = "one", "", ""
    for name, value in changes.items():
        setattr(settings, name, value)
    (error,) = settings_are_right()
    assert error.id == "retwis.E001"
    assert fix in error.msg
    assert "hidden" not in error.msg


@pytest.mark.parametrize("path", ["", "/", "/2", "/2/"])
def test_an_address_may_name_a_database_and_end_with_a_slash(settings, path):
    settings.REDIS_TOPOLOGY, settings.REDIS_URL = "server", f"redis://one:6379{path}"
    assert settings_are_right() == []
    assert described() == f"redis://one:6379/{path.strip('/') or 0}"


@pytest.mark.parametrize("topology", ["sentinel", "cluster"])
@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_the_repr_of_a_topology_has_no_password(settings, topology, scheme):
    settings.REDIS_TOPOLOGY, settings.REDIS_URL = topology, f"{scheme}://site:hidden@one:6379"
    settings.REDIS_SENTINEL_SERVICE, settings.REDIS_SENTINEL_USERNAME = "one", "site"
    settings.REDIS_SENTINEL_PASSWORD = "hidden too"
    transport = transport_of({})
    parts = [transport, *vars(transport).values(), *(vars(transport.slots).values() if topology == "cluster" else [])]
    assert [repr(part) for part in parts if "hidden" in repr(part)] == []
    assert settings_are_right() == []


@pytest.mark.parametrize("command", [("check",), ("check", "--deploy"), ("seed",), ("deliver", "--once")], ids=" ".join)
def test_every_command_fails_with_an_unknown_topology_and_names_it(tmp_path, command):
    env = environment(tmp_path, REDIS_TOPOLOGY="ring", REDIS_URL="redis://127.0.0.1:1")
    ended = manage(*command, env=env)
    assert ended.returncode == 1
    assert "REDIS_TOPOLOGY='ring' is not valid. Set one of: server, sentinel" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.fixture
def config(raw):
    """Set settings of the test server, which has a user. The settings are restored afterwards."""
    raw.hset("users", "alice", "1")
    before = {**raw.config_get("appendonly"), **raw.config_get("maxmemory-policy")}
    yield raw.config_set
    for name, value in before.items():
        raw.config_set(name, value)


@pytest.mark.real_server
@pytest.mark.parametrize(
    ("appendonly", "policy", "warning"),
    [
        ("yes", "noeviction", None),
        ("no", "noeviction", ("(retwis.W003)", "appendonly no")),
        ("yes", "allkeys-lru", ("(retwis.W004)", "maxmemory-policy allkeys-lru")),
    ],
    ids=["it keeps everything", "it has no append-only file", "it may evict keys"],
)
def test_the_deploy_check_warns_of_a_server_that_may_lose_data(config, capsys, appendonly, policy, warning):
    config("appendonly", appendonly)
    config("maxmemory-policy", policy)
    lines = retwis_messages(capsys, "--deploy")
    assert len(lines) == (warning is not None)
    assert all(text in line for line in lines for text in warning)


@pytest.mark.real_server
def test_without_deploy_the_server_is_not_asked(config, sent, capsys):
    config("maxmemory-policy", "allkeys-lru")
    assert retwis_messages(capsys) == []
    assert sent.commands == []


@pytest.mark.parametrize(
    ("https", "cookie", "expected"),
    [(False, "auth", "retwis.W005"), (True, "auth", "retwis.E002"), (True, "__Host-auth", None)],
)
def test_the_deploy_check_checks_the_sign_in_cookie(settings, https, cookie, expected):
    settings.HTTPS, settings.AUTH_COOKIE = https, cookie
    assert [message.id for message in sign_in_cookie_is_safe()] == ([expected] if expected else [])


STRICT = {
    "SECURE_HSTS_SECONDS": "security.W004",
    "SECURE_HSTS_INCLUDE_SUBDOMAINS": "security.W005",
    "SECURE_SSL_REDIRECT": "security.W008",
    "SECURE_HSTS_PRELOAD": "security.W021",
    "CSRF_COOKIE_SECURE": "security.W016",
}


@pytest.mark.parametrize("name", STRICT)
def test_the_deploy_check_warns_of_a_site_that_turns_off_what_https_turns_on(settings, capsys, name):
    settings.HTTPS, settings.AUTH_COOKIE = True, "__Host-auth"
    for one in STRICT:
        setattr(settings, one, 1)

    def warned():
        capsys.readouterr()
        call_command("check", "--deploy", "--tag=security")
        printed = capsys.readouterr().err
        return [number for number in STRICT.values() if f"({number})" in printed]

    assert warned() == []
    setattr(settings, name, 0)
    assert warned() == [STRICT[name]]


@pytest.mark.one_server
def test_the_deploy_check_warns_of_the_embedded_server(settings, capsys, sent):
    settings.REDIS_URL = ""
    (line,) = retwis_messages(capsys, "--deploy")
    assert "(retwis.W001)" in line
    assert sent.commands == []


@pytest.mark.one_server
def test_a_server_that_is_away_is_an_error_of_the_deploy_check(tmp_path):
    ended = manage("check", "--deploy", env=environment(tmp_path, REDIS_URL="redis://127.0.0.1:1"))
    assert ended.returncode == 1
    assert "(retwis.E007)" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.real_server
@pytest.mark.one_server
def test_a_server_that_refuses_the_password_is_an_error_of_the_deploy_check(settings, tmp_path):
    url = settings.REDIS_URL.replace("retwis:only", "retwis:not")
    assert url != settings.REDIS_URL
    ended = manage("check", "--deploy", env=environment(tmp_path, REDIS_URL=url))
    assert ended.returncode == 1
    assert "(retwis.E007)" in ended.stderr


@pytest.mark.real_server
@pytest.mark.one_server
def test_keys_that_the_user_may_not_touch_are_an_error_of_the_deploy_check(tmp_path):
    """As after an upgrade with the `users.acl` of the older version, or with a prefix that its line lacks."""
    older = [line.replace(" ~home_tags:*", "").replace(" ~outbox ", " ") for line in acl_users.lines()]
    server = topologies.Server(tmp_path, *topologies.free_ports(1), users=older)
    with topologies.running([server]):
        url = f"redis://{acl_users.credentials()}127.0.0.1:{server.port}"
        ended = manage("check", "--deploy", env=environment(tmp_path, REDIS_URL=url))
        prefixed = manage("check", "--deploy", env=environment(tmp_path, REDIS_URL=url, REDIS_KEY_PREFIX="blog:"))
    assert ended.returncode == prefixed.returncode == 1
    assert "(retwis.E008) The store's user may not touch these keys: home_tags:<uid>, outbox." in ended.stderr
    assert "(retwis.E008) The store's user may not touch these keys: blog:next_user_id, blog:users," in prefixed.stderr
    assert f", and {len(KINDS) - 10} more." in prefixed.stderr


@pytest.mark.real_server
@pytest.mark.usefixtures("raw")
def test_the_deploy_check_asks_for_a_key_of_each_kind(capsys, sent):
    assert not any("E008" in line for line in retwis_messages(capsys, "--deploy"))
    asked = [key for name, *words in sent.commands if name == "TTL" for key in words]
    assert len(asked) == len(KINDS)
    assert all(key.startswith(f"{PREFIX}{kind.start}") for key, kind in zip(asked, KINDS.values(), strict=True))
