"""Rate limits: a refused user gets a 429 with Retry-After, keeps the typed text, and does not hold up others."""

import time

import pytest
from django.contrib.auth import authenticate

from accounts.settings.views import PASSWORD_FORMS
from accounts.signing_in.feature import REGISTRATIONS
from accounts.signing_in.passwords import ATTEMPTS, LOGINS, login_subject
from retwis_site.exceptions import TooOften
from retwis_site.store.rate_limits import Limit
from tests.support.people import NEW_PASSWORD, PASSWORD, register
from timeline.posts.feature import POSTS
from timeline.relations.feature import FOLLOWS

OTHER_ADDRESS = "198.51.100.7"
ADDRESS = "127.0.0.1"


def log_in(client, username="alice", password=PASSWORD, address=ADDRESS):
    return client.post("/login/", {"username": username, "password": password}, REMOTE_ADDR=address)


def use_up(store, limit, who):
    """Count as many actions as the limit allows."""
    for _ in range(limit.times):
        limit.count(store, who)


def is_refused(response, limit):
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= limit.seconds
    assert response["Cache-Control"] == "no-store"
    return response.content.decode()


def an_hour_passes(raw):
    """Make all counted actions an hour older."""
    for key in raw.keys("throttle:*"):
        for member in raw.zrange(key, 0, -1):
            raw.zincrby(key, -3601, member)


# ---- logins


def test_after_ten_wrong_passwords_the_right_one_is_refused_too(client, alice, raw):
    for _ in range(10):
        assert log_in(client, password="wrong").status_code == 422
    page = is_refused(log_in(client), LOGINS)
    assert 'value="alice"' in page
    assert PASSWORD not in page
    assert "auth" not in client.cookies
    an_hour_passes(raw)
    assert log_in(client).status_code == 302


def test_a_stranger_at_another_address_cannot_lock_a_user_out(browser, alice, raw):
    for _ in range(12):
        last = log_in(browser(), password="wrong", address=OTHER_ADDRESS)
    assert last.status_code == 429
    assert log_in(browser()).status_code == 302
    assert browser(alice).get("/").status_code == 200


def test_other_accounts_can_be_tried_from_the_same_address(browser, alice, bob):
    for _ in range(11):
        log_in(browser(), password="wrong")
    assert log_in(browser(), username="bob").status_code == 302


def test_an_address_that_tries_many_accounts_is_refused(browser, store, alice, bob):
    use_up(store, ATTEMPTS, ADDRESS)
    is_refused(log_in(browser()), ATTEMPTS)
    assert log_in(browser(), address=OTHER_ADDRESS).status_code == 302


def test_right_passwords_count_against_an_address_as_wrong_ones_do(browser, member, raw, monkeypatch):
    for _ in range(ATTEMPTS.times - 1):
        assert log_in(browser()).status_code == 302
    assert log_in(browser(), password="wrong").status_code == 422
    monkeypatch.setattr("accounts.signing_in.passwords.check_password", None)
    page = is_refused(log_in(browser()), ATTEMPTS)
    assert 'value="alice"' in page
    assert PASSWORD not in page
    assert raw.zcard(f"throttle:attempt:{ADDRESS}") == ATTEMPTS.times
    assert member.get("/").status_code == 200


def test_upper_and_lower_case_names_count_as_the_same_account(browser, alice):
    for username in ("alice", "ALICE", "Alice", "aLICE") * 3:
        last = log_in(browser(), username=username, password="wrong")
    assert last.status_code == 429


def test_an_unknown_name_is_limited_like_any_other(browser, raw):
    answers = [log_in(browser(), username="nobody at all ö" * 9, password="wrong").status_code for _ in range(11)]
    assert answers == [422] * 10 + [429]
    [key] = raw.keys("throttle:login:*")
    assert len(key) < 60


def test_a_login_resets_the_count_of_wrong_passwords(browser, alice, raw):
    for _ in range(3):
        for _ in range(9):
            log_in(browser(), password="wrong")
        assert log_in(browser()).status_code == 302
        assert raw.keys("throttle:login:*") == []


def test_the_password_of_a_refused_login_is_not_verified(browser, alice, store, monkeypatch):
    use_up(store, LOGINS, login_subject("alice", ADDRESS))
    monkeypatch.setattr("accounts.signing_in.passwords.check_password", None)
    monkeypatch.setattr("accounts.signing_in.passwords.make_password", None)
    assert log_in(browser()).status_code == 429


def test_the_current_password_cannot_be_guessed_in_an_open_browser(member):
    form = {"password": "wrong", "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    for _ in range(10):
        assert member.post("/settings/password/", form).status_code == 422
    is_refused(member.post("/settings/password/", {**form, "password": PASSWORD}), LOGINS)
    assert member.get("/").status_code == 200


def test_forms_with_the_current_password_are_limited_for_a_user_at_all_addresses(
    browser, member, bob, raw, monkeypatch
):
    weak = {"password": PASSWORD, "password1": "weak", "password2": "weak"}
    for number in range(PASSWORD_FORMS.times):
        answer = member.post("/settings/password/", weak, REMOTE_ADDR=f"198.51.100.{number}")
        assert answer.status_code == 422
    assert browser(bob).post("/settings/password/", weak).status_code == 422
    monkeypatch.setattr("accounts.signing_in.passwords.check_password", None)
    for path in ("/settings/password/", "/settings/delete/"):
        is_refused(member.post(path, weak), PASSWORD_FORMS)
    assert raw.zcard("throttle:password:1") == PASSWORD_FORMS.times
    assert member.get("/").status_code == 200


def test_logins_without_a_request_are_not_limited(alice, raw):
    for _ in range(12):
        authenticate(None, username="alice", password="wrong")
    assert authenticate(None, username="alice", password=PASSWORD).user == alice.user
    assert raw.keys("throttle:*") == []


# ---- registrations


def sign_up(client, username, address=ADDRESS):
    form = {"username": username, "password1": PASSWORD, "password2": PASSWORD}
    return client.post("/register/", form, REMOTE_ADDR=address)


def test_thirty_users_an_hour_can_register_from_an_address(browser, raw):
    for number in range(30):
        assert sign_up(browser(), f"dora{number}").status_code == 302
    assert 'value="dora30"' in is_refused(sign_up(browser(), "dora30"), REGISTRATIONS)
    assert raw.hlen("users") == 30
    assert raw.get("next_user_id") == "30"
    assert sign_up(browser(), "dora30", OTHER_ADDRESS).status_code == 302
    an_hour_passes(raw)
    assert sign_up(browser(), "dora31").status_code == 302


def test_a_registration_that_failed_does_not_count(browser, alice, raw):
    raw.hset("user:1", "seen", "1")  # else it may be that of the account, sent again
    for _ in range(3):
        assert sign_up(browser(), "Alice").status_code == 422
        assert sign_up(browser(), "no name").status_code == 422
    assert raw.keys("throttle:*") == []


# ---- posts and follows


def test_a_user_can_publish_sixty_posts_an_hour(browser, store, member, bob, raw):
    use_up(store, POSTS, 1)
    page = is_refused(member.post("/post/", {"body": "One <too> many", "token": "t-61"}), POSTS)
    assert "One &lt;too&gt; many</textarea>" in page
    assert '<input type="hidden" name="token" value="t-61">' in page
    assert raw.get("next_post_id") is None
    assert member.get("/").status_code == 200
    assert browser(bob).post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
    an_hour_passes(raw)
    assert member.post("/post/", {"body": "One too many", "token": "t-61"}).status_code == 302


def test_an_invalid_post_does_not_count(browser, alice, raw):
    assert browser(alice).post("/post/", {"body": " ", "token": "t"}).status_code == 422
    assert raw.keys("throttle:*") == []


def test_a_user_can_follow_120_times_an_hour_and_unfollow_at_any_time(store, member, bob, raw):
    use_up(store, FOLLOWS, 1)
    is_refused(member.post("/@bob/follow/"), FOLLOWS)
    assert raw.zcard("following:1") == 0
    assert member.post("/@bob/unfollow/").status_code == 302


# ---- counting


def test_the_window_slides(store, raw):
    use_up(store, POSTS, 1)
    with pytest.raises(TooOften):
        POSTS.count(store, 1)
    [oldest, *_] = raw.zrange("throttle:post:1", 0, 0)
    raw.zadd("throttle:post:1", {oldest: time.time() - POSTS.seconds - 1})
    POSTS.count(store, 1)
    with pytest.raises(TooOften):
        POSTS.count(store, 1)


def test_retry_after_is_when_the_oldest_action_leaves_the_window(store, raw):
    use_up(store, POSTS, 1)
    [oldest, *_] = raw.zrange("throttle:post:1", 0, 0)
    raw.zadd("throttle:post:1", {oldest: int(time.time()) - POSTS.seconds + 100})
    with pytest.raises(TooOften) as refused:
        POSTS.count(store, 1)
    assert 97 <= refused.value.retry_after <= 100


@pytest.mark.parametrize("ahead", [60, 86_400])
def test_what_a_clock_that_was_ahead_has_counted_does_not_count(store, raw, ahead):
    """Each try keeps the set: who tries again within the hour would be refused until that time."""
    use_up(store, POSTS, 1)
    for member in raw.zrange("throttle:post:1", 0, -1):
        raw.zincrby("throttle:post:1", ahead, member)
    use_up(store, POSTS, 1)
    with pytest.raises(TooOften):
        POSTS.count(store, 1)


def test_an_action_is_refused_when_another_request_forgets_all_of_them_in_the_middle(store, raw):
    use_up(store, POSTS, 1)
    pipe = store.pipeline()
    counted = POSTS.ask_count(pipe, 1)
    batch = pipe.take()
    replies = [store.exchange([command])[0] for command in batch.queued[:-1]]
    raw.unlink("throttle:post:1")  # as a login does with the wrong passwords before it
    batch.fill([*replies, *store.exchange(batch.queued[-1:])])
    with pytest.raises(TooOften) as refused:
        _ = counted.value
    assert refused.value.retry_after == POSTS.seconds


def test_refused_actions_are_not_stored_and_the_key_expires_with_the_window(store, raw):
    use_up(store, POSTS, 1)
    for _ in range(5):
        with pytest.raises(TooOften):
            POSTS.count(store, 1)
    assert raw.zcard("throttle:post:1") == POSTS.times
    assert 0 < raw.ttl("throttle:post:1") <= POSTS.seconds


def test_with_throttle_0_nothing_is_counted(browser, store, alice, raw, settings):
    settings.THROTTLE = False
    use_up(store, POSTS, 1)
    for _ in range(12):
        assert log_in(browser(), password="wrong").status_code == 422
    assert browser(alice).post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
    assert register(store, "dora").user.uid == 2
    assert raw.keys("throttle:*") == []


def test_a_refused_user_reads_once_how_many_are_allowed():
    assert POSTS.refusal() == "Too many posts in a short time. The limit is 60."
    assert Limit("motto", 30, 3600, "mottos", "At most %(times)d in an hour.").refusal() == "At most 30 in an hour."
