"""The results of `make bench`: figures read from wrk, ratios, and a page with a row for every goal."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks import document, growth, memory, pages, run, speed, stand, visitor, wrk
from benchmarks.plan import Plan, Report, Run
from benchmarks.visitor import Answer, Viewer, WrongAnswer
from benchmarks.wrk import Race, Result, Visit
from tests.support.processes.processes import alive, wait_until

WRK_OUTPUT = """\
Running 1s test @ http://127.0.0.1:8000
  2 threads and 16 connections
found 2000000 800 8000000 3 1 2 0 4 19000 57000
"""


def result(rate, p50=10.0, p99=20.0, refused=0, broken=0):
    return Result(100, rate, 1000, refused, broken, p50, p99)


def race(*pairs):
    return Race("home", 16, list(pairs))


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("|")]


def test_the_output_of_wrk_is_read_with_every_kind_of_failure():
    assert wrk.parse(WRK_OUTPUT) == Result(
        requests=800, rate=400.0, size=10_000.0, refused=3, broken=7, p50=19.0, p99=57.0
    )


def test_a_run_without_a_response_is_an_error():
    with pytest.raises(RuntimeError):
        wrk.parse("found 1000000 0 0 0 16 0 0 0 0 0")


def test_the_ratio_of_a_race_is_the_median_of_its_ratios_and_not_the_ratio_of_medians():
    measured = race((result(100), result(10)), (result(1000), result(50)), (result(200), result(60)))
    assert measured.ratio == pytest.approx(0.1)
    assert measured.spread == pytest.approx((0.05, 0.3))


def test_the_growth_of_p99_is_the_median_over_the_pairs():
    measured = race((result(9, p99=10), result(9, p99=20)), (result(9, p99=10), result(9, p99=90)))
    assert measured.p99_growth == pytest.approx(5.5)


def test_a_race_counts_only_the_failures_of_the_subject():
    measured = race((result(100, refused=9), result(10, refused=1, broken=2)), (result(100), result(10, broken=4)))
    assert measured.failures == 7


def test_all_are_warmed_up_and_then_base_and_page_run_in_turn_for_the_given_number_of_rounds(tmp_path):
    class RecordedTarget:
        def __init__(self, name):
            self.name = name

        def run(self, clients, seconds):
            order.append((self.name, clients, seconds))
            return result(10)

    order = []
    pages = {name: RecordedTarget(name) for name in ("home", "profile")}
    races = wrk.race(Plan(tmp_path, rounds=2, seconds=3), RecordedTarget("empty"), pages, 100)
    assert order[:3] == [(name, 16, 1) for name in ("empty", "home", "profile")]
    assert order[3:] == [(name, 100, 3) for name in ("empty", "home", "empty", "profile")] * 2
    assert [(each.name, each.clients, len(each.pairs)) for each in races] == [("home", 100, 2), ("profile", 100, 2)]


@pytest.mark.parametrize(
    ("figure", "value", "met"),
    [
        ("home, 16", 0.16, "**no**"),
        ("home, 16", 0.17, "yes"),
        ("home, 16", 0.20, "yes, and the stretch goal"),
        ("home, tail", 3.1, "**no**"),
        ("home, tail", 2.0, "yes, and the stretch goal"),
        ("home at random", 0.14, "**no**"),
        ("first visit", 3.01, "**no**"),
        ("worker memory", 15 * 1024 * 1024, "yes"),
    ],
)
def test_a_goal_says_whether_it_is_met(figure, value, met):
    (goal,) = [goal for goal in document.GOALS if goal.figure == figure]
    assert goal.row(value)[-1] == met


def test_the_page_has_a_row_for_every_goal_and_marks_goals_that_were_not_measured():
    figures = {goal.figure: goal.bound for goal in document.GOALS}
    del figures["following"]
    (following,) = [goal.what for goal in document.GOALS if goal.figure == "following"]
    rows = rows_of(document.goals(figures))
    assert len(rows) == len(document.GOALS) + 2
    (unmeasured,) = [row for row in rows if "not measured" in row]
    assert unmeasured.startswith(f"| {following} |")


RUN = Run("1 May 2026, 02:58 UTC", 3, 2, "0.01, 0.02, 0.03", {"cores": "2", "Python": "3.11"})


def results_of(*parts):
    return {name: document.result(RUN, Report(f"report of {name}\n", {name: 1.0})) for name in parts}


def test_every_part_has_its_heading_its_text_and_when_it_was_measured_on_the_page():
    page = document.document(results_of(*document.HEADINGS))
    for name, heading in document.HEADINGS.items():
        assert f"## {heading}\n\n{RUN}\n\nreport of {name}\n" in page
    assert "1 May 2026, 02:58 UTC, in 3 rounds of 2 s." in str(RUN)
    assert "0.01, 0.02, 0.03" in str(RUN)


def test_a_part_without_results_says_so():
    assert "## Growth: search\n\nNot measured yet.\n" in document.document(results_of("pages"))


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A folder with the results and the page."""
    monkeypatch.setattr(document, "DOCS", tmp_path)
    monkeypatch.setattr(document, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(document, "RESULTS", tmp_path / "benchmarks.json")
    document.RESULTS.write_text("{}")
    return tmp_path


def test_a_run_renews_its_parts_and_leaves_the_others(docs):
    for name in ("search", "pages"):
        document.renew(RUN, name, Report(f"old report of {name}\n", {}))
    later = replace(RUN, began="2 May 2026, 03:00 UTC", machine={**RUN.machine, "Python": "3.12"})
    report = Report("new report\nof the search\n", {"rare word": 1.25})
    document.renew(later, "search", report)
    assert list(document.stored()) == ["pages", "search"]
    assert document.stored()["search"] == document.result(later, report)
    page = (docs / "benchmarks.md").read_text()
    assert f"## Speed: pages\n\n{RUN}\n\nold report of pages\n" in page
    assert f"## Growth: search\n\n{later}\n\nnew report\nof the search\n" in page
    assert "| 1.2 times | yes |" in page
    assert "|  | Speed: pages | Growth: search |" in page
    assert "| Python | 3.11 | 3.12 |" in page


def test_the_page_in_the_documentation_is_what_the_results_say():
    """`python -m benchmarks.document` writes it."""
    page = document.PAGE.read_text()
    assert page == document.document(document.stored())
    for goal in document.GOALS:
        assert sum(row.startswith(f"| {goal.what} |") for row in rows_of(page)) == 1, goal.what
    for link in re.findall(r"\]\(([^)]+)\)", page):
        assert (document.DOCS / link).exists()


def test_each_figure_of_the_results_has_a_goal_but_for_those_that_never_had_one():
    figures = {name for result in document.stored().values() for name in result.figures}
    without_goal = {figure for figure in figures if figure.startswith(("thread, ", "post bytes"))}
    assert figures - without_goal <= {goal.figure for goal in document.GOALS}


def test_the_error_for_a_missing_program_names_its_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed"],
        cwd=stand.ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "apt-get install wrk redis-tools redis-server" in done.stderr


def members(group):
    """The pids of the processes of a group."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(int(path.name)) == group:
                found.add(int(path.name))
    return found


def test_a_process_ends_with_its_children(tmp_path):
    script = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print('up', flush=True); time.sleep(60)"
    log = tmp_path / "log"
    with log.open("wb") as output, stand.running([sys.executable, "-c", script], {}, stdout=output) as process:
        wait_until(lambda: "up" in log.read_text(), "the process")
        children = members(process.pid) - {process.pid}
    assert len(children) == 1
    assert process.returncode is not None
    wait_until(lambda: not any(alive(pid) for pid in children), "the end of its child")


# ---- visits in turn and at random


@pytest.fixture
def commands(monkeypatch):
    """The commands that would run wrk."""

    def run(command, **options):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, WRK_OUTPUT)

    ran = []
    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_each_run_of_a_target_has_another_number_so_that_it_draws_other_visits(tmp_path, commands):
    homes = wrk.target(8000, [Visit("/")], tmp_path / "homes.lua", wrk.AT_RANDOM)
    homes.run(16, 2)
    homes.run(16, 2)
    assert [command[-3:] for command in commands] == [["--", "1", "0"], ["--", "2", "0"]]


def test_a_number_of_requests_is_counted_by_one_thread_and_must_be_answered(tmp_path, commands):
    homes = wrk.target(8000, [Visit("/")], tmp_path / "homes.lua")
    assert homes.first(16, 800).requests == 800
    (command,) = commands
    assert command[:5] == ["wrk", "-t", "1", "-c", "16"]
    assert command[-1] == "817"
    with pytest.raises(RuntimeError, match="only 800 of 801 requests"):
        homes.first(16, 801)


def test_each_visit_sends_the_headers_of_its_user_or_app(tmp_path):
    app = Visit("/api", {"Authorization": "Bearer token"})
    homes = wrk.target(8000, [VIEWERS[0].visit("/"), app, Visit("/timeline/")], tmp_path / "homes.lua")
    script = homes.script.read_text()
    assert re.search(r'{"/", {\["Cookie"\] = "\w*auth=secret1; \w+=c{32}"}},', script)
    assert '{"/api", {["Authorization"] = "Bearer token"}},\n{"/timeline/", {}}\n' in script


@contextlib.contextmanager
def recording_server():
    """Yields a port and the list of paths that are requested there. The list is complete after the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            paths.append(self.path)
            with contextlib.suppress(OSError):  # wrk closes its connections at the end
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # the end of the server waits for them

        def handle_error(self, request, address):
            pass

    paths = []
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, paths
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_wrk_makes_visits_in_turn_or_at_random_and_stops_after_the_given_number(tmp_path):
    def paths_of(target):
        """The visits of a run, as numbers."""
        with recording_server() as (port, paths):
            assert 50 <= replace(target, port=port).first(1, 50).requests < 60
        return [int(path[1:]) for path in paths]

    visits = [Visit(f"/{number}") for number in range(1000)]
    in_turn = paths_of(wrk.target(0, visits, tmp_path / "turn.lua"))
    assert in_turn == list(range(in_turn[0], in_turn[0] + len(in_turn)))
    target = wrk.target(0, visits, tmp_path / "random.lua", wrk.AT_RANDOM)
    first, second = paths_of(target), paths_of(target)
    again = paths_of(wrk.target(0, visits, tmp_path / "random.lua", wrk.AT_RANDOM))
    assert len(set(first)) > 40
    assert first != sorted(first)
    assert len(set(first) & set(again)) > 40
    assert len(set(first) & set(second)) < 20


# ---- homes while posts and follows arrive

VIEWERS = [Viewer(uid, f"user_{uid}", f"secret{uid}", "c" * 32) for uid in range(1, 101)]


@pytest.fixture
def arrivals(monkeypatch):
    """Arrivals whose forms are noted with their senders, and whose homes wait for twenty forms."""

    class Sender:
        def __init__(self, port):
            pass

        def post(self, visit, **fields):
            sent.append((visit, fields))
            return Answer(speed_of["status"], b"", "", 0.001)

        def close(self):
            pass

    class HomesAtRandom:
        def run(self, clients, seconds):
            runs.append(seconds)
            wait_until(lambda: len(sent) >= 20 or speed_of["status"] != 302, "twenty forms")
            return result(10)

    sent, runs, speed_of = [], [], {"status": 302}
    monkeypatch.setattr(speed, "Visitor", Sender)
    monkeypatch.setattr(speed, "delivered", lambda client: True)
    for name, value in {"KEPT": 0.0, "LEAD": 0.01, "ARRIVALS": 400}.items():
        monkeypatch.setattr(speed, name, value)
    arrivals = speed.Arrivals(stand.Place(None, {}), 8000, HomesAtRandom(), VIEWERS)
    return arrivals, sent, runs, speed_of


def test_posts_and_follows_arrive_by_turns_while_homes_are_measured(arrivals):
    arrivals, sent, runs, _ = arrivals
    assert arrivals.run(16, 2) == result(10)
    assert runs == [2, speed.LEAD]  # the second one is not measured
    posts = [fields for visit, fields in sent if visit.path == "/post/"]
    follows = [visit for visit, _ in sent if visit.path.endswith("/follow/")]
    assert len(posts) + len(follows) == len(sent)
    assert posts
    assert len({fields["token"] for fields in posts}) == len(posts)
    assert len({visit.headers["Cookie"] for visit, _ in sent}) > 10


def test_a_form_that_is_refused_is_an_error(arrivals):
    arrivals, _, _, speed_of = arrivals
    speed_of["status"] = 429
    with pytest.raises(WrongAnswer):
        arrivals.run(16, 2)


def test_forms_that_come_too_slowly_are_an_error(arrivals, monkeypatch):
    monkeypatch.setattr(speed, "KEPT", 1000.0)
    with pytest.raises(RuntimeError, match="instead of 800"):
        arrivals[0].run(16, 2)


# ---- what is checked before it is timed

HOME = '<a href="/@user_1/">me</a><form action="/logout/"></form>' + "<article></article>" * 20


def answered(page, status=200):
    return Answer(status, page.ljust(1000).encode(), "", 0.001)


class FakeVisitor(visitor.Visitor):
    """A browser that gets the answer that was set for a path."""

    def __init__(self, answers):
        super().__init__(0)
        self._answers = answers

    def get(self, visit):
        return self._answers[visit.path]


@pytest.fixture
def answers(monkeypatch):
    """What a site answers, by path. Its empty view is at `/empty`."""
    answers = {"/empty": answered("")}
    monkeypatch.setattr(pages, "Visitor", lambda port: FakeVisitor(answers))
    return answers


@pytest.fixture
def measure(tmp_path, monkeypatch, answers):
    """Compares the home of a user with the empty view. `during` is what happens then, and notes that it did."""

    def run(during):
        monkeypatch.setattr(pages, "race", lambda *arguments: during() or [race((result(100), result(10)))])
        empty = pages.Page("empty view", 8000, [Visit("/empty")], posts=0)
        return pages.compare(Plan(tmp_path), empty, [pages.Page("home", 8000, [VIEWERS[0].visit("/")])])

    return run


@pytest.mark.parametrize(
    ("status", "page"),
    [
        (503, HOME),
        (200, HOME.replace("<article>", "", 1)),
        (200, HOME + "<article>"),
        (200, HOME.replace("/logout/", "/login/")),
        (200, HOME.replace("user_1", "user_2")),
    ],
)
def test_a_page_that_is_not_what_it_should_be_is_not_timed(answers, measure, status, page):
    timed = []
    answers["/"] = answered(page, status)
    with pytest.raises(WrongAnswer):
        measure(lambda: timed.append("home"))
    assert timed == []
    answers["/"] = answered(HOME)
    (home,) = measure(lambda: timed.append("home"))
    assert timed == ["home"]
    assert home.ratio == pytest.approx(0.1)


def test_a_page_that_is_another_one_afterwards_is_an_error(answers, measure):
    answers["/"] = answered(HOME)
    with pytest.raises(WrongAnswer):
        measure(lambda: answers.update({"/": answered(HOME, 503)}))


def test_of_very_many_visits_only_some_are_checked_spread_over_all(answers, monkeypatch):
    monkeypatch.setattr(pages, "CHECKED", 3)
    visits = [Visit(f"/{number}") for number in range(9)]
    answers |= {path: answered("") for path in ("/0", "/3", "/6")}  # others would be a KeyError
    assert pages.Page("timelines", 8000, visits, posts=0).check() == 1000
    del answers["/6"]
    with pytest.raises(KeyError):
        pages.Page("timelines", 8000, visits, posts=0).check()


def test_the_page_of_a_signed_in_user_is_not_that_of_a_visitor(answers):
    answers["/"] = answered(HOME)
    with pytest.raises(WrongAnswer, match="signed-in user"):
        pages.load(8000, [Visit("/")])


def test_a_timeline_for_an_app_is_counted_as_its_posts_and_needs_no_logout_button(answers):
    answers["/api"] = answered('[{"id": "1"}, {"id": "2"}]')
    page = pages.Page("home for an app", 8000, [Visit("/api", {"Authorization": "Bearer token"})], posts=2)
    assert page.check() == 1000
    with pytest.raises(WrongAnswer, match="2 posts instead of 3"):
        replace(page, posts=3).check()


def test_responses_of_another_size_than_the_page_are_an_error():
    pages.require_size(race((result(100), result(10))), 1000)
    with pytest.raises(RuntimeError, match="responses of 1000 bytes"):
        pages.require_size(race((result(100), result(10))), 2000)


def test_the_answers_come_in_the_order_of_the_visits(answers):
    visits = [Visit(f"/{number}") for number in range(9)]
    answers |= {visit.path: answered(visit.path) for visit in visits}
    assert [answer.page.strip() for answer in pages.load(8000, visits)] == [visit.path for visit in visits]


def test_homes_with_fewer_posts_than_a_page_are_not_full(answers):
    links = "".join(f'<a href="/@{viewer.name}/">' for viewer in VIEWERS)
    answers |= {"/1": answered(HOME + links), "/2": answered(HOME.replace("<article>", "", 1) + links)}
    visits = {viewer: viewer.visit(f"/{viewer.uid}") for viewer in VIEWERS[:2]}
    assert pages.full(8000, visits, 1) == VIEWERS[:1]
    with pytest.raises(RuntimeError, match="only 1 pages are full"):
        pages.full(8000, visits, 2)


# ---- the three questions


def test_a_question_leaves_parts_of_other_questions_to_them(docs, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["python -m benchmarks.speed", "entries"])
    assert run.main("speed", {"pages": None}) == 0
    assert not document.PAGE.exists()


def test_an_unknown_part_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["python -m benchmarks.speed", "homepage"])
    with pytest.raises(SystemExit):
        run.main("speed", speed.PARTS)
    assert "no such part: homepage" in capsys.readouterr().err


def test_each_part_of_a_question_has_a_heading_on_the_page():
    parts = [part for question in (speed, growth, memory) for part in question.PARTS]
    assert parts == list(document.HEADINGS)


def test_the_memory_of_a_process_is_what_it_does_not_share():
    rollup = "Rss: 900 kB\nShared_Clean:  400 kB\nPrivate_Clean:      12 kB\nPrivate_Dirty:     30 kB\nSwap: 0 kB\n"
    assert memory.private_bytes(rollup) == 42 * 1024


def test_the_web_workers_are_named_in_the_log(tmp_path):
    log = tmp_path / "log"
    log.write_text("retwis.serve: web worker 1 has PID: 67\nretwis.serve: web worker 2 has PID: 69\n")
    assert stand.workers(log) == [67, 69]
    log.write_text("retwis.serve: web worker 1 has PID: 67\n")
    with pytest.raises(RuntimeError, match="1 workers"):
        stand.workers(log)
