"""A text that nobody can see is no text: in every field of every form, and in every command."""

import argparse
import re

import pytest
from django import forms
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.urls import get_resolver

from accounts.community.sanctions import Sanctions
from accounts.signing_in.forms import PasswordField, UsernameField
from accounts.users.entities import State
from retwis_site.store.local_cache import Memory
from tests.support.people import NEW_PASSWORD
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_admin, report
from tests.support.stored_keys import everything, publish
from tests.support.texts.unseen import TEXTS, UNSEEN

# ---- The fields of all forms: what nobody can see is answered as an empty text is.

# Only what is stored already is accepted, or what a device has made.
NO_TEXTS = {"AnswerForm.username", "RecoverForm.code", "PictureRemovalForm.digest", "NewAppForm.code"}
NO_TEXTS |= {"FactorForm.code", "FactorForm.passkey", "NewPasskeyForm.passkey"}


def _forms(form):
    for one in form.__subclasses__():
        yield one
        yield from _forms(one)


def fields():
    """All text fields of the site's forms."""
    assert get_resolver().url_patterns  # they are loaded then, with their forms
    own = {
        form for form in _forms(forms.Form) if form.__module__.startswith(("accounts.", "timeline.", "retwis_site."))
    }
    return {
        f"{form.__name__}.{name}": field
        for form in own
        for name, field in form.base_fields.items()
        if isinstance(field, forms.CharField)
        and not isinstance(field, PasswordField | UsernameField)
        and not field.widget.is_hidden
    }


FIELDS = fields()


def outcome(field, text):
    try:
        return field.clean(text)
    except forms.ValidationError as error:
        return error.messages


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - NO_TEXTS))
def test_in_every_field_an_unseen_text_is_an_empty_one(name):
    field = FIELDS[name]
    empty = outcome(field, "")
    null = "\0"  # is no text at all, and may be refused
    others = [text for text in [*UNSEEN, *TEXTS, "".join(UNSEEN[1:])] if null not in text]
    assert len(others) > 4000
    assert [ascii(text) for text in others if outcome(field, text) != empty] == []
    assert outcome(field, "👩\u200d🚀❤\ufe0f") == "👩\u200d🚀❤\ufe0f"


# ---- The forms that want a text: 422, and nothing changes.

REPORTED, PERSON = "/moderation/reports/{rid}/", "/moderation/people/bob/"
PLACES = [
    ("PostForm.body", "alice", "/post/", {}),
    ("PostForm.body", "alice", "/post/", {"reply_to": "1"}),
    ("PostForm.body", "alice", "/post/", {"quote": "1"}),
    ("PostForm.body", None, "/post/", {}),
    ("EditForm.body", "alice", "/@Alice/1/edit/", {}),
    ("ReportForm.note", "alice", "/@bob/report/", {"reason": "other"}),
    ("ReportForm.note", "bob", "/@Alice/1/report/", {"reason": "other"}),
    ("AppealForm.text", "bob", "/appeal/", {}),
    ("ReasonForm.reason", "carol", PERSON, {"act": "lift"}),
    ("ReasonForm.reason", "carol", PERSON, {"act": "link"}),
    ("SanctionForm.reason", "carol", PERSON, {"act": "sanction", "action": "frozen", "days": "1"}),
    ("ReasonForm.reason", "carol", "/moderation/people/Alice/", {"act": "delete", "post": ["1"]}),
    ("PictureRemovalForm.reason", "carol", PERSON, {"act": "remove_picture", "digest": "0" * 40}),
    ("NoteForm.note", "carol", PERSON, {"act": "note"}),
    ("DecisionForm.reason", "carol", REPORTED, {"action": "frozen", "days": "7"}),
    (
        "ApplicationForm.why",
        None,
        "/register/",
        {"username": "dora", **dict.fromkeys(("password1", "password2"), NEW_PASSWORD)},
    ),
    ("MutedWordForm.words", "alice", "/settings/words/", {"where": "home", "how": "hide"}),
]


@pytest.fixture
def rid(store, raw, alice, bob, carol):
    """A report. bob is hidden, carol is an admin, and who wants to join must say why."""
    publish(raw, store, alice, "One")
    make_admin(store, CAROL)
    Sanctions(store).impose(BOB, State.HIDDEN, "Ads")
    raw.hset("user:2", "picture", "0" * 40)
    raw.hset("site", mapping={"registration": "approval", "name": "Ravens"})
    Memory.clear_all()
    return report(store, ALICE, BOB).rid


def test_every_field_that_wants_a_text_has_a_place_here():
    wanted = {name for name, field in FIELDS.items() if field.required} - NO_TEXTS
    assert wanted <= {name for name, *_ in PLACES}


@pytest.mark.parametrize(("name", "who", "address", "others"), PLACES)
def test_a_form_that_wants_a_text_is_a_422_and_changes_nothing(browser, raw, rid, request, name, who, address, others):
    client = browser(request.getfixturevalue(who)) if who else browser()
    address = address.format(rid=rid)
    client.get(address)
    before = {key: value for key, value in everything(raw).items() if not key.startswith("throttle")}
    for text in TEXTS:
        answer = client.post(address, {**others, name.partition(".")[2]: text})
        assert answer.status_code == 422, ascii(text)
    after = {key: value for key, value in everything(raw).items() if not key.startswith("throttle")}
    assert after == before
    answer = client.post(address, {**others, name.partition(".")[2]: "\u3164❤\ufe0f"})
    assert answer.status_code in {200, 302}  # as the page with the link


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_may_be_empty_becomes_so(browser, raw, rid, alice, carol, text):
    assert browser(alice).post("/settings/", {"name": text, "bio": text}).status_code == 302
    assert not any(raw.hmget("user:1", "name", "bio"))
    words = ("name", "tagline", "announcement", "about", "rules", "privacy", "contact")
    assert browser(carol).post("/moderation/site/", dict.fromkeys(words, text)).status_code == 302
    assert not any(raw.hmget("site", *words))
    assert "· Retwis</title>" in browser().get("/login/").content.decode()


def test_a_line_that_nobody_can_see_is_no_rule(browser, raw):
    raw.hset("site", "rules", "Be kind\n\u3164\n\u2800\ufe0f\nNo spoilers")
    Memory.clear_all()
    assert re.findall(r'<li dir="auto">([^<]*)', browser().get("/rules/").content.decode()) == [
        "Be kind",
        "No spoilers",
    ]


# ---- The commands

# The arguments that take a text of the operator's. The second: how the command is called with one.
TEXTS_OF_COMMANDS = {
    "user reason": lambda text: ("user", "sanction", "bob", "frozen", "--reason", text),
    "post reason": lambda text: ("post", "1", "--delete", "--reason", text),
    "site words": lambda text: ("site", f"announcement={text}"),
    "trace text": lambda text: ("trace", "post", "Alice", text),
}
OTHERS = {
    *("user username", "user address", "post id", "trace username", "trace them", "names block", "names unblock"),
    *("db source", "export file", "import file", "import_account file", "import_retwis source", "serve host"),
    "invite revoke",
}


def _actions(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _actions(verb)
        else:
            yield action


def test_every_argument_that_takes_a_text_has_its_case_here():
    of_django = {action.dest for action in BaseCommand().create_parser("manage.py", "")._actions}
    taking = set()
    for name, app in get_commands().items():
        command = load_command_class(app, name)
        if app in {"retwis_site", "accounts", "timeline"} and type(command).__module__.endswith(f".{name}"):
            actions = _actions(command.create_parser("manage.py", name))
            taking |= {f"{name} {action.dest}" for action in actions if _takes_a_text(action, of_django)}
    inherited = {one for one in taking if one.split()[0] in {"collectstatic", "makemessages", "runserver", "shell"}}
    assert taking - inherited == TEXTS_OF_COMMANDS.keys() | OTHERS


def _takes_a_text(action, of_django):
    return action.nargs != 0 and action.type in (None, str) and action.choices is None and action.dest not in of_django


@pytest.mark.parametrize("name", TEXTS_OF_COMMANDS)
def test_a_command_refuses_a_text_that_nobody_can_see(raw, rid, name):
    before = everything(raw)
    for text in TEXTS:
        with pytest.raises(CommandError):
            call_command(*TEXTS_OF_COMMANDS[name](text), verbosity=0)
    assert everything(raw) == before
    call_command(*TEXTS_OF_COMMANDS[name]("\u3164❤\ufe0f"), verbosity=0)
    assert everything(raw) != before
