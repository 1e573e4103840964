"""A relation that a site adds as a feature of its own: three files, and all else knows it."""

import json

import pytest

from tests.support.people import PASSWORD
from tests.support.processes.fake_store import FAKE
from tests.support.processes.fresh_process import in_a_process

STORY = """
import io, json
from django.core.management import call_command
from retwis_site.store.client import connect

def said(*command):
    printed = io.StringIO()
    try:
        call_command(*command, stdout=printed)
    except SystemExit:
        pass
    return printed.getvalue()

def key(name):
    return dict(connect().zrevrange_withscores(name, 0, -1))

def problems():
    return [one["check"] for one in json.loads(said("doctor", "--json"))["errors"]]

alice, bob = Client(headers={"host": "localhost"}), Client(headers={"host": "localhost"})
for client, name in ((alice, "alice"), (bob, "bob")):
    client.post("/register/", {"username": name, "password1": PASSWORD, "password2": PASSWORD})
bob.post("/post/", {"body": "worth it", "token": "t"})
found = {"status": alice.post("/@bob/1/thank/").status_code, "keys": [key("thanks:1"), key("thanked_by:1")]}
found["page"] = alice.get("/thanks/").content.decode()
found["download"] = b"".join(alice.get("/settings/download/").streaming_content).decode()
found["own key"] = alice.get("/inspect/thanks:1").content.decode()
found["key of another"] = bob.get("/inspect/thanks:1").content.decode()
found["families"] = alice.get("/inspect/").content.decode()
said("export", FILE)
found["export"] = open(FILE).read()
connect().zadd("thanks:1", {"x": 7})
connect().zadd("thanked_by:1", {"77": 7})
found["damaged"] = problems()
said("doctor", "--fix")
found["repaired"] = problems()
found["keys after the repair"] = [key("thanks:1"), key("thanked_by:1")]
alice.post("/settings/delete/", {"password": PASSWORD})
said("deliver", "--once")
found["keys of a deleted account"] = [key("thanks:1"), key("thanked_by:1")]
found["problems of a deleted account"] = problems()
connect().transport.client.flushall()
said("import", FILE)
found["keys after an import"] = [key("thanks:1"), key("thanked_by:1")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the story of alice, who thanks a post of bob, has found. It has a store of its own."""
    path = tmp_path_factory.mktemp("export") / "site.jsonl"
    code = f"{FAKE}\nPASSWORD, FILE = {PASSWORD!r}, {str(path)!r}\n{STORY}"
    own = {"DJANGO_SETTINGS_MODULE": "tests.support.own_feature.settings", "INSPECT": "1", "THROTTLE": "0"}
    return json.loads(in_a_process(code, **own))


def test_its_button_writes_both_sides_and_its_page_shows_them(found):
    assert found["status"] == 302
    assert [list(key) for key in found["keys"]] == [["1"], ["1"]]
    assert found["page"] == "1"


def test_the_download_has_it(found):
    lines = [json.loads(line) for line in found["download"].splitlines()]
    [line] = [line for line in lines if line["type"] == "thank"]
    assert (line["id"], line["address"]) == (1, "http://localhost/@bob/1/")


def test_the_export_has_it(found):
    lines = [json.loads(line) for line in found["export"].splitlines()]
    [line] = [line for line in lines if line["type"] == "thank"]
    assert (line["user"], line["post"]) == (1, 1)
    assert [line["type"] for line in lines].index("thank") > [line["type"] for line in lines].index("post")


def test_an_import_brings_it_back(found):
    assert found["keys after an import"] == found["keys"]


def test_the_key_browser_has_its_family_and_shows_it_to_its_owner_alone(found):
    assert "thanked_by:&lt;pid&gt;" in found["families"]
    assert "longer with each thanks" in found["families"]
    own, of_another = (found[name].partition('id="inspector"')[0] for name in ("own key", "key of another"))
    assert "/inspect/post:1" in own
    assert "/inspect/post:1" not in of_another


def test_doctor_finds_and_repairs_what_is_wrong_with_it(found):
    assert "values that are no id, number or text" in found["damaged"]
    assert len(found["damaged"]) == 2
    assert found["repaired"] == []
    assert found["keys after the repair"] == found["keys"]


def test_it_goes_with_the_account(found):
    assert found["keys of a deleted account"] == [{}, {}]
    assert found["problems of a deleted account"] == []


def test_a_command_knows_its_kinds_before_it_looks_at_keys():
    """Else `copy` would leave them out."""
    code = f"""{FAKE}
from django.core.management import call_command
call_command("deliver", "--once", verbosity=0)
from retwis_site.store.kinds import kind_of
print(kind_of("thanks:7").name)"""
    assert in_a_process(code, DJANGO_SETTINGS_MODULE="tests.support.own_feature.settings") == "thanks:<uid>"
