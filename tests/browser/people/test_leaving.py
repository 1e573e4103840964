"""A user downloads their data and deletes the account. Nothing of the account is shown afterwards."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.support.served import PATIENCE
from tests.browser.support.steps import composer, fill_in_login, follow_button, log_in, post, posted, said, sign_up
from tests.support.people import PASSWORD
from tests.support.processes.processes import wait_until

GONE = "This account was deleted."
DELETE = "Delete my account permanently"


def ask_to_delete(page, password):
    page.goto("/settings/delete/")
    page.get_by_label("Current password").fill(password)
    page.get_by_role("button", name=DELETE).click()


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_an_account_goes_with_all_that_is_its(window, console, name, raw, scripts):
    console.expects(422, "/settings/delete/")
    console.expects(422, "/login/")
    leaver, friend = name("Leaver"), name("Friend")
    page, others = window(java_script_enabled=scripts), window()
    sign_up(page, leaver)
    posted(page, "My first and last post.")
    sign_up(others, friend)
    others.goto(f"/@{leaver}/")
    follow_button(others, leaver).click()
    expect(others.get_by_role("status").filter(has_text="You now follow")).to_be_visible()

    ask_to_delete(page, "not my password")
    expect(page.get_by_text("Wrong password.")).to_be_visible()
    expect(page.get_by_label("Current password")).to_have_value("")
    page.goto("/")
    expect(composer(page)).to_be_visible()

    ask_to_delete(page, PASSWORD)
    said(page, "Your account was deleted.")
    expect(page.get_by_role("heading", name="Short posts from people you choose.")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_have_count(0)
    assert "auth" not in {cookie["name"] for cookie in page.context.cookies()}

    uid = raw.hget("users", leaver.lower())
    wait_until(lambda: raw.hgetall(f"user:{uid}").keys() == {"username", "deleted"}, "the worker", PATIENCE)
    console.expects(410, f"/@{leaver}/")
    others.goto(f"/@{leaver}/")
    expect(others.get_by_text(GONE)).to_be_visible()
    others.goto(f"/@{friend}/following/")
    expect(others.get_by_role("main").get_by_role("link", name=leaver)).to_have_count(0)
    others.goto("/")
    expect(post(others, "My first and last post.")).to_have_count(0)

    log_in(page, leaver)
    expect(page.get_by_role("alert")).to_be_visible()
    fill_in_login(page, friend)
    said(page, f"Welcome back, {friend}.")


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_ones_data_is_saved_as_a_file(window, name, scripts):
    writer = name("Writer")
    page = window(java_script_enabled=scripts, accept_downloads=True)
    sign_up(page, writer)
    posted(page, "Worth keeping: <é>.")
    page.goto("/settings/delete/")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="download your data").click()
    saved = waiting.value
    assert saved.suggested_filename.startswith(f"retwis-{writer}-")
    assert saved.suggested_filename.endswith(".jsonl")
    lines = [json.loads(line) for line in Path(saved.path()).read_text().split("\n")[:-1]]
    assert [line["type"] for line in lines] == ["export", "account", "session", "post", "end"]
    assert lines[1]["username"] == writer
    assert lines[3]["text"] == "Worth keeping: <é>."
    assert lines[4]["lines"] == len(lines)
    expect(page.get_by_role("button", name=DELETE)).to_be_visible()
