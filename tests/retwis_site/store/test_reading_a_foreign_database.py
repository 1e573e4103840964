"""Until `adopt` has run, the site shows what an official database has, and changes nothing in it."""

import pytest
from django.core.management import call_command

from retwis_site.exceptions import StoreError, StoreReadOnly
from retwis_site.store import schema
from retwis_site.store.client import connect
from retwis_site.store.local_cache import Memory
from retwis_site.store.schema import StoreState
from tests.support.http.page_text import page_of, post_ids
from tests.support.maintenance.official_database import AMELIA, BOB, make_official_database
from tests.support.people import PASSWORD, register
from tests.support.stored_keys import everything

PAGES = [
    *("/", "/new/?after=1", "/timeline/", "/timeline/?before=10", "/people/", "/people/?q=a", "/settings/"),
    *("/@Amelia/", "/@bob/", "/@AMELIA/", "/@Amelia/followers/", "/@Amelia/following/", "/@bob/1/", "/@nobody/"),
    *("/timeline/atom/", "/timeline/rss/", "/@bob/atom/", "/@bob/rss/", "/sitemap.xml", "/login/", "/register/"),
]


@pytest.fixture
def gated(raw):
    """The site's own connection, with its gate."""
    connect.cache_clear()
    return connect()


@pytest.fixture
def php(raw):
    return make_official_database(raw)


@pytest.mark.parametrize("uid", [None, AMELIA])
def test_no_page_changes_a_key(gated, php, client, raw, uid, settings):
    before = everything(raw)
    if uid:
        client.cookies[settings.AUTH_COOKIE] = php.secret(uid)
    for path in PAGES:
        for _ in range(2):
            assert client.get(path).status_code in {200, 204, 302, 404}, path
            Memory.clear_all()
        assert everything(raw) == before, path


def test_the_global_timeline_shows_the_posts_of_its_list(gated, php, browser):
    assert post_ids(browser().get("/timeline/")) == list(range(30, 10, -1))
    assert post_ids(browser().get("/timeline/?before=11")) == list(range(10, 0, -1))


def test_a_profile_shows_the_own_posts_in_the_users_home(gated, php, browser, raw):
    own = [pid for pid in range(30, 0, -1) if raw.hget(f"post:{pid}", "user_id") == str(BOB)]
    assert post_ids(browser().get("/@bob/")) == own
    assert post_ids(browser().get(f"/@bob/?before={own[3]}")) == own[4:]


def test_a_post_has_its_page(gated, php, browser):
    assert "Before anyone followed me" in browser().get("/@bob/1/").content.decode()
    assert browser().get("/@Amelia/1/").status_code == 404


def test_the_cookie_of_the_php_signs_in_and_home_shows_the_list(gated, php, client, raw, settings):
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    assert post_ids(client.get("/")) == [int(pid) for pid in raw.lrange("posts:1", 0, 19)]
    assert "1" not in raw.lrange("posts:1", 0, -1)  # bob's post from before the follow


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/register/", {"username": "AMELIa", "password1": PASSWORD, "password2": PASSWORD}),
        ("/login/", {"username": "Amelia", "password": "amelia's own words"}),
        ("/@bob/follow/", {}),
        ("/post/", {"body": "Hello", "token": "t" * 32}),
    ],
)
def test_a_form_gets_a_503_and_changes_nothing(gated, php, client, raw, settings, path, form, caplog):
    before = everything(raw)
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    assert "can only be read right now" in page_of(client.post(path, form), 503)
    assert "manage.py adopt" in caplog.text
    assert everything(raw) == before


def test_without_limits_a_login_with_the_right_password_is_a_503_too(gated, php, browser, raw, settings, caplog):
    settings.THROTTLE = False
    before = everything(raw)
    form = {"username": "Amelia", "password": "amelia's own words"}
    assert "can only be read right now" in page_of(browser().post("/login/", form), 503)
    assert "manage.py adopt" in caplog.text
    assert everything(raw) == before


def test_every_write_is_refused(gated, php):
    with pytest.raises(StoreReadOnly, match=r"manage\.py adopt"):
        gated.set("x", "1")
    pipe = gated.pipeline()
    pipe.get("x")
    pipe.lpushx_each(["posts:1"], "31")
    with pytest.raises(StoreReadOnly):
        next(gated.stream([pipe]))


def test_the_gate_opens_when_the_database_is_adopted(gated, php, browser, raw):
    assert post_ids(browser().get("/@bob/"))
    assert not gated.gate.is_open
    call_command("adopt", verbosity=0)
    browser().get("/timeline/")
    assert gated.gate.is_open


def test_while_adopt_is_under_way_nothing_is_written(alice, gated, raw):
    raw.set("schema", schema.ADOPTING)
    with pytest.raises(StoreReadOnly):
        gated.set("x", "1")


# ---- what kind of store it is


def test_an_empty_store_is_no_foreign_one_and_may_be_filled(gated, raw):
    assert schema.examine(gated) is StoreState.EMPTY
    register(gated, "Alice")
    assert schema.examine(gated) is StoreState.OURS
    assert raw.get("schema") == "1"


def test_a_store_of_a_newer_site_is_refused(alice, gated, raw, browser, caplog):
    raw.set("schema", "2")
    with pytest.raises(StoreError, match="install the newer version"):
        gated.get("health")
    assert browser().get("/timeline/").status_code == 503
    assert "install the newer version" in caplog.text


@pytest.mark.parametrize("password", ["hunter2", "!hunter2", "pbkdf2_sha256$hunter2", "argon", "!" + "a" * 39])
def test_a_typed_password_is_no_hash(password):
    assert not schema.is_hash(password)


def test_the_gate_costs_nothing_once_it_is_open(gated, alice, round_trips):
    gated.get("health")
    assert len(round_trips(lambda: gated.get("health")).round_trips) == 1
