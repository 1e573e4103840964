"""A person chooses the colour of their picture. It is shown at once wherever the picture is."""

import re

from django.core.management import call_command

from accounts.settings.views import AUTOMATIC, COLOUR_NAMES
from accounts.users.entities import User
from accounts.users.html import avatar
from accounts.users.repository import Users
from retwis_site.store.kinds import COLOURS
from tests.support.maintenance.doctor_report import complaints
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

OF_ALICE = re.compile(r'<span class="avatar g(\d+) s\d+ f\d+" aria-hidden="true">A</span>')


def colours_of_alice(html):
    return {COLOURS[int(ground)] for ground in OF_ALICE.findall(html)}


OWN = colours_of_alice(avatar(User(1, "Alice")))  # which follows from her uid


def test_each_colour_has_a_name_and_a_ground_of_its_own():
    assert [*COLOUR_NAMES] == [AUTOMATIC, *COLOURS]
    for uid in (1, 7, 2**53):
        drawn = [avatar(User(uid, "x", colour=colour)) for colour in COLOURS]
        assert [re.search(r"\bg(\d+)", one)[1] for one in drawn] == [str(ground) for ground in range(12)]
        assert all(ground != shade for ground, shade in (re.search(r"g(\d+) s(\d+)", one).groups() for one in drawn))


def test_a_chosen_colour_is_shown_at_once_wherever_the_picture_is(browser, raw, store, alice, bob):
    Follows(store).follow(2, 1)
    Follows(store).follow(1, 2)
    pid = publish(raw, store, alice, "hello")
    client, other, visitor = browser(alice), browser(bob), browser()
    pages = [
        *((client, url) for url in ("/", f"/@alice/{pid}/", "/@bob/followers/", "/@bob/more/")),
        *((other, url) for url in ("/", "/timeline/?of=all", "/@alice/", "/notifications/", "/@bob/following/")),
        *((visitor, url) for url in ("/timeline/", f"/@alice/{pid}/")),
    ]

    def shown():
        return [colours_of_alice(who.get(url).content.decode()) for who, url in pages]

    assert shown() == [OWN] * len(pages)
    assert f'value="{AUTOMATIC}" checked' in client.get("/settings/").content.decode()
    client.post("/settings/", {"name": "", "bio": "", "colour": "magenta"})
    assert raw.hget("user:1", "colour") == "magenta"
    assert shown() == [{"magenta"}] * len(pages)
    assert 'value="magenta" checked' in client.get("/settings/").content.decode()
    client.post("/settings/", {"name": "Ann", "bio": ""})  # a form that does not know of colours
    assert raw.hget("user:1", "colour") == "magenta"
    client.post("/first-steps/", {"name": "", "bio": "", "colour": "teal"})
    assert raw.hget("user:1", "colour") == "teal"
    client.post("/settings/", {"name": "", "bio": "", "colour": AUTOMATIC})
    assert not raw.hexists("user:1", "colour")
    assert shown() == [OWN] * len(pages)


def test_a_form_with_errors_keeps_the_choice(browser, raw, alice):
    page = browser(alice).post("/settings/", {"name": "", "bio": "b" * 161, "colour": "pink"})
    assert page.status_code == 422
    assert 'value="pink" checked' in page.content.decode()
    assert browser(alice).post("/settings/", {"name": "", "bio": "", "colour": "mauve"}).status_code == 422
    assert not raw.hexists("user:1", "colour")


def test_a_deleted_account_keeps_no_colour(raw, store, alice):
    raw.hset("user:1", "deleted", "5")
    Users(store).choose_colour(1, "pink")
    assert not raw.hexists("user:1", "colour")


def test_a_bad_colour_is_skipped_and_named_by_doctor(browser, raw, alice, capsys):
    raw.hset("user:1", "colour", "garbage")
    assert colours_of_alice(browser(alice).get("/").content.decode()) == OWN
    assert "user:1 has 'garbage' as colour" in complaints(capsys)
    call_command("doctor", "--fix", verbosity=0)
    assert not raw.hexists("user:1", "colour")
    assert raw.hgetall("damaged:user:1:values") == {"colour": "garbage"}
