"""The site at a path of its host, behind nginx, as docs/running.md says: under gunicorn, and under waitress."""

import re

import pytest

from tests.support.deploy.machine import deployment

PASSWORD = "correct horse battery"
TOP = "/social"


@pytest.fixture(scope="module", params=["gunicorn", "waitress"])
def machine(request):
    with deployment(request.param, TOP) as machine:
        yield machine


def test_a_user_registers_posts_and_logs_in_again(machine):
    browser = machine.browser()
    status, page = browser.submit(f"{TOP}/register/", username="alice", password1=PASSWORD, password2=PASSWORD)
    assert status == 200, page
    form = browser.ask(f"{TOP}/").form(f"{TOP}/post/")
    assert browser.open(f"{TOP}/post/", {**form, "body": "below a path"})[0] == 200
    again = machine.browser()
    status, page = again.submit(f"{TOP}/login/", username="alice", password=PASSWORD)
    assert (status, "below a path" in page) == (200, True)
    assert again.cookies() >= {"__Host-social-auth", "__Host-social-csrftoken"}
    assert machine.printed("web").count("Traceback") == 0, machine.printed("web")


def test_static_files_come_from_nginx_and_everything_else_of_the_host_is_free(machine):
    browser = machine.browser()
    style = re.search(r'rel="stylesheet" href="([^"]+)"', browser.ask(f"{TOP}/").page)[1]
    assert browser.ask(style).headers["Cache-Control"] == "max-age=315360000, public, immutable"
    machine.path("var/lib/retwis/static/added.txt").write_text("by nginx")  # the site looks only when it starts
    assert browser.ask(f"{TOP}/static/added.txt").page == "by nginx"
    assert browser.ask("/timeline/").status == 404
    assert browser.ask(TOP).status == 200  # nginx redirects to /social/
    assert "Temporarily unavailable" in browser.ask(f"{TOP}/static/down.html").page


def test_an_app_learns_in_its_form_that_pictures_are_too_large(machine):
    assert b"Content-Type: application/json" in machine.answer_to_too_large(f"{TOP}/api/v2/media")


def test_the_site_knows_the_address_of_a_client(machine):
    machine.browser("127.0.0.7").submit(f"{TOP}/login/", username="alice", password="wrong and long enough")
    assert [key for key in machine.raw.keys("throttle:*") if key.endswith(":127.0.0.7")]
