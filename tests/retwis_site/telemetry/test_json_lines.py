"""LOG_FORMAT=json: each line is one JSON object, with the same fields everywhere and nothing but known fields."""

import logging

from retwis_site.telemetry.log_lines import LONGEST_LINE


def test_a_request_is_an_object_with_its_figures_as_numbers(browser, alice, objects):
    answer = browser(alice).get("/", headers={"x-request-id": "from-the-proxy"})
    [line] = objects()
    assert list(line)[:5] == ["timestamp", "level", "logger", "message", "request_id"]
    times = {name: line.pop(name) for name in ("timestamp", "message", "ms", "store_ms")}
    assert times["timestamp"][10] == "T"
    assert times["timestamp"].endswith("Z")
    assert times["message"].startswith("GET home 200, ")
    assert times["ms"] >= times["store_ms"] >= 0
    assert line.pop("round_trips") > 0
    assert line == {
        "level": "INFO",
        "logger": "retwis.access",
        "request_id": "from-the-proxy",
        "method": "GET",
        "route": "home",
        "status": 200,
        "bytes": len(answer.content),
        "address": "127.0.0.1",
        "uid": 1,
        "cause": None,
    }


def test_a_traceback_is_in_its_object_and_has_the_id_of_the_request(failing, objects):
    answer = failing(ZeroDivisionError("division by zero"), "?q=secret")
    failed, access = objects()
    assert set(failed) == {"timestamp", "level", "logger", "message", "request_id", "traceback"}
    assert (failed["logger"], failed["level"]) == ("django.request", "ERROR")
    assert failed["traceback"].splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert failed["request_id"] == access["request_id"] == answer.headers["X-Request-ID"]
    assert "secret" not in str(objects())


def test_a_slow_request_has_its_figures_too(browser, alice, objects, settings):
    settings.SLOW_REQUEST_MS = 1
    browser(alice).get("/", headers={"x-request-id": "from-the-proxy"})
    _, slow = objects()
    assert (slow["logger"], slow["route"], slow["request_id"]) == ("retwis.slow", "home", "from-the-proxy")
    assert " commands: " in slow["message"]


def test_hostile_texts_stay_in_their_field_and_are_cut(objects):
    logging.getLogger("retwis.store").error('"}\n{"level": "forged\u2028 \x1b[31m%s', "x" * 300_000)
    try:
        raise ValueError("y" * 300_000)
    except ValueError:
        logging.getLogger("retwis.store").exception("failed", extra={"request": "a secret", "status_code": 500})
    first, second = objects()
    assert first["message"].startswith(r'"}\n{"level": "forged\u2028 \x1b[31mxxx')
    assert len(first["message"]) <= LONGEST_LINE + len("...")
    assert max(map(len, second["traceback"].splitlines())) < 500
    assert set(second) == {"timestamp", "level", "logger", "message", "traceback"}
