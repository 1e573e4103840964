"""The part of `make bench` for a living site: what happens in the background, homes, and the memory of workers."""

import threading

import pytest
from django.conf import settings

from benchmarks import background, stand
from benchmarks.background import Arrivals, Logins, Outcome, Request, Steady, like
from benchmarks.parts import worker_memory
from benchmarks.parts.first_visits import Homes
from benchmarks.plan import Plan, small
from benchmarks.visitor import Answer, Viewer

VIEWERS = [Viewer(uid, f"user_{uid}", f"secret{uid}", "c" * 32) for uid in range(1, 101)]


# ---- posts, follows and logins in the background


class FakeVisitor:
    """Records its forms and answers as the site does. Sets `stop` at a number of forms."""

    def __init__(self, stop, at):
        self.stop, self.at = stop, at
        self.cookies = {}
        self.forms = []

    def post(self, path, **fields):
        self.forms.append((path, self.cookies, fields))
        if len(self.forms) == self.at:
            self.stop.set()
        if path == "/login/":
            self.cookies = {**self.cookies, str(settings.AUTH_COOKIE): fields["username"].replace("user_", "secret")}
        return Answer(302, "", path.removesuffix("follow/") if "follow" in path else "/", 0.001)

    def close(self):
        pass


@pytest.fixture
def visitor(monkeypatch):
    fake = FakeVisitor(threading.Event(), 20)
    monkeypatch.setattr(background, "Visitor", lambda port: fake)
    return fake


def test_posts_and_follows_arrive_in_turn_with_the_token_of_their_user(visitor, monkeypatch):
    monkeypatch.setattr(background, "SENDERS", 1)
    pairs = list(zip(VIEWERS[:50], VIEWERS[50:], strict=True))
    arrivals = Arrivals(VIEWERS, pairs)
    requests = Steady(8000, 10_000, arrivals.send)(visitor.stop)
    assert [request.number for request in requests] == list(range(20))
    assert all(request.right for request in requests)
    assert [arrivals.pair(request) for request in requests] == [pair for two in pairs[:10] for pair in (None, two)]
    for number, (path, cookies, fields) in enumerate(visitor.forms):
        assert path == (f"/@user_{51 + number // 2}/follow/" if number % 2 else "/post/")
        assert cookies == VIEWERS[number // 2].cookies
        assert fields["csrfmiddlewaretoken"] == VIEWERS[number // 2].csrf


def test_likes_arrive_with_the_token_of_their_user(visitor, monkeypatch):
    monkeypatch.setattr(background, "SENDERS", 1)
    requests = Steady(8000, 10_000, lambda by, number: like(by, VIEWERS[number], f"/@ann/{number}/", number))(
        visitor.stop
    )
    assert all(request.right for request in requests)
    assert [path for path, _, _ in visitor.forms] == [f"/@ann/{number}/like/" for number in range(20)]
    assert [fields["csrfmiddlewaretoken"] for _, _, fields in visitor.forms] == [one.csrf for one in VIEWERS[:20]]


def test_people_log_in_at_once_with_the_password_of_the_demo(visitor):
    requests = Logins(8000, VIEWERS, 3)(visitor.stop)
    assert len(requests) == len(visitor.forms) >= 20
    assert {path for path, _, _ in visitor.forms} == {"/login/"}
    assert {fields["password"] for _, _, fields in visitor.forms} == {settings.DEMO_PASSWORD}
    assert len({fields["username"] for _, _, fields in visitor.forms}) > 5


def test_a_wrong_response_and_a_slow_pace_in_the_background_are_errors():
    right, wrong = Request(1, 0.001, True), Request(2, 0.001, False)
    outcome = Outcome([right] * 96, 2.0, 0.1)
    outcome.require_right()
    outcome.require_pace(50)
    with pytest.raises(RuntimeError, match=r"48\.0 requests a second in the background instead of 60"):
        outcome.require_pace(60)
    with pytest.raises(RuntimeError, match="1 of 97 requests in the background failed"):
        Outcome([right] * 96 + [wrong], 2.0, 0.1).require_right()


def test_the_background_is_another_process_that_reports_when_the_block_ends():
    def work(stop):
        return [Request(0, 0.001, stop.wait(30))]

    with background.background(work) as outcomes:
        assert not outcomes
    (outcome,) = outcomes
    assert outcome.requests == [Request(0, 0.001, True)]


def test_a_background_that_fails_fails_the_measurement(capfd):
    with pytest.raises(EOFError), background.background(lambda stop: 1 / 0):
        pass
    assert "ZeroDivisionError" in capfd.readouterr().err


# ---- homes and the memory of workers


def test_homes_with_fewer_posts_than_a_page_are_not_full():
    assert Homes({VIEWERS[0]: 20, VIEWERS[1]: 20, VIEWERS[2]: 19}, 20_000).full == 2


def test_the_memory_of_a_process_is_what_it_does_not_share():
    rollup = "Rss: 900 kB\nShared_Clean:  400 kB\nPrivate_Clean:      12 kB\nPrivate_Dirty:     30 kB\nSwap: 0 kB\n"
    assert worker_memory.private_bytes(rollup) == 42 * 1024


def test_page_views_are_mostly_homes_and_some_profiles_and_timelines():
    paths = [path for path, _ in worker_memory.visits(VIEWERS)]
    assert paths.count("/") == 100
    assert paths.count("/timeline/") == 6
    assert sum(path.startswith("/@user_") for path in paths) == 18


def test_the_web_workers_are_named_in_the_log(tmp_path):
    log = tmp_path / "log"
    log.write_text("retwis.serve: web worker 1 has PID: 67\nretwis.serve: web worker 2 has PID: 69\n")
    assert stand.workers(log) == [67, 69]
    log.write_text("retwis.serve: web worker 1 has PID: 67\n")
    with pytest.raises(RuntimeError, match="1 workers"):
        stand.workers(log)


@pytest.mark.parametrize(
    "size", ["living_users", "living_posts", "busy_seconds", "first_homes", "first_visitors", "views"]
)
def test_the_small_plan_has_a_smaller_living_site(tmp_path, size):
    assert getattr(small(tmp_path, 1, 1), size) < getattr(Plan(tmp_path), size)
