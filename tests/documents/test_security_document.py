"""docs/security.md: every requirement is in a table, every named test exists, and the rules agree with the code."""

import ast
import logging
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import get_resolver

from accounts.signing_in.forms import LONGEST_NAME
from accounts.signing_in.guards import COOKIE_LIVES
from accounts.signing_in.passwords import LONGEST_PASSWORD, LeanArgon2PasswordHasher
from retwis_site.features import features
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.kinds import KINDS
from tests.support.asvs import DOCUMENT, part, requirements, rows
from timeline.posts.composing import drafts
from timeline.posts.entities import LONGEST_POST

ROOT = Path(settings.BASE_DIR)
HOLDS, EXCEPTIONS, OPERATORS = "What holds", "Exceptions", "What is the operator's"


def numbers(title):
    return [number for row in rows(title) for number in row[0].split(", ")]


def not_applicable():
    """The numbers of all requirements that do not apply. A chapter or section in the document counts for all of its
    requirements."""
    entries = re.findall(r"^- \*\*([^*]+)\*\*: ", part("What does not apply"), re.MULTILINE)
    listed = [name.removeprefix("V") for entry in entries for name in entry.split(", ")]
    found = [number for number in requirements() for name in listed if f"{number}.".startswith(f"{name}.")]
    assert {name for name in listed if not any(f"{number}.".startswith(f"{name}.") for number in found)} == set()
    return found


# ---- the table


def test_the_standard_has_the_right_number_of_requirements_of_each_level():
    levels = list(requirements().values())
    assert [levels.count(level) for level in (1, 2, 3)] == [70, 183, 92]


def test_every_requirement_of_levels_1_and_2_is_in_a_table():
    required = {number for number, level in requirements().items() if level <= 2}
    places = [*numbers(HOLDS), *numbers(EXCEPTIONS), *numbers(OPERATORS), *not_applicable()]
    assert required - set(places) == set()
    assert set(places) - set(requirements()) == set()


def test_only_a_requirement_that_holds_in_part_is_in_two_tables():
    for title in (HOLDS, EXCEPTIONS, OPERATORS):
        assert len(numbers(title)) == len(set(numbers(title)))
    applies = [*numbers(EXCEPTIONS), *numbers(OPERATORS)]
    assert len(applies) == len(set(applies))
    assert not set(not_applicable()) & {*numbers(HOLDS), *applies}
    assert not set(numbers(HOLDS)) & set(numbers(OPERATORS))
    assert all(requirements()[number] <= 2 for number in [*numbers(HOLDS), *applies])


def test_the_table_is_in_the_standards_order():
    order = list(requirements())
    assert numbers(HOLDS) == sorted(numbers(HOLDS), key=order.index)


def test_every_test_that_the_table_names_exists():
    named = {tuple(name.split("::")) for row in rows(HOLDS) for name in row[3].split(", ")}
    assert len(named) > 80
    for file in {file for file, _ in named}:
        known = {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
        assert {name for where, name in named if where == file} - known == set(), file


@pytest.mark.parametrize("title", [HOLDS, EXCEPTIONS, OPERATORS])
def test_every_row_is_complete(title):
    width = {HOLDS: 4, EXCEPTIONS: 4, OPERATORS: 3}[title]
    for row in rows(title):
        assert len(row) == width, row
        assert all(row), row


def test_every_link_has_a_target():
    headings = re.findall(r"^#+ (.*)$", DOCUMENT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", DOCUMENT):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("https://"):
            assert (ROOT / "docs" / target).exists(), target


# ---- the rules


def table_of(title):
    """A table as a dict: from the first column to the other columns."""
    return {row[0]: row[1:] for row in rows(title)}


def test_every_address_says_who_may_use_it():
    patterns, names = list(get_resolver().url_patterns), []
    while patterns:
        pattern = patterns.pop()
        patterns += getattr(pattern, "url_patterns", [])
        names += [pattern.name] if hasattr(pattern, "name") else []
    documented = re.findall(r"`(\w+)`", " ".join(what for [what] in table_of("Who may do what").values()))
    assert sorted(documented) == sorted(names)


def test_what_may_be_typed_is_what_the_code_takes():
    rules = {what: rule for what, [rule] in table_of("What may be typed").items()}
    assert f"1 to {LONGEST_NAME} of" in rules["a username"]
    assert f"8 to {LONGEST_PASSWORD} characters" in rules["a password"]
    assert f"1 to {LONGEST_POST} characters" in rules["a post"]
    assert f"from 1 to {LARGEST_ID};" in rules["an id, a cursor"]
    assert f"up to {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes" in rules["a body"]


def test_how_often_is_what_the_code_counts():
    limits = [limit for feature in features() for limit in feature.limits]
    documented = {what: (int(times), int(minutes)) for what, (times, minutes, _) in table_of("How often").items()}
    assert len(limits) == len(documented)
    for limit in limits:
        (what,) = [what for what in documented if limit.what.startswith(what)]
        assert documented[what] == (limit.times, limit.seconds // 60)


def test_a_session_lives_as_long_as_it_says():
    assert f"for {COOKIE_LIVES // 86400} days" in " ".join(part("Passwords and sessions").split())
    assert drafts.LIVES == 3600
    assert "an hour" in table_of("What is secret")["texts not posted yet"][1]


def test_what_is_secret_are_keys_of_the_site():
    named = {key for _, where, _ in rows("What is secret") for key in re.findall(r"`([^`]+)`", where)} - {"draft"}
    assert {"user:<uid>", "auths"} <= named
    assert {name for name in named if not name.startswith("damaged:")} <= {kind.name for kind in KINDS.values()}


def test_the_inventory_of_cryptography_is_the_codes():
    made_with = {what: how for what, (how, _) in table_of("Keys, hashes and chance").items()}
    hasher = LeanArgon2PasswordHasher
    assert f"{hasher.memory_cost} KiB, t={hasher.time_cost}, p={hasher.parallelism}" in made_with["passwords"]
    assert made_with["sign-in secrets"].startswith("128 bits")
    assert "SHA-256" in made_with["throttled accounts"]


def test_every_logger_is_in_the_inventory():
    documented = {name.strip("`"): level for name, (level, _) in table_of("What is written down").items()}
    source = "\n".join(
        path.read_text() for app in ("retwis_site", "accounts", "timeline") for path in (ROOT / app).rglob("*.py")
    )
    own = set(re.findall(r'getLogger\("([\w.]+)"\)', source))
    assert own
    assert own | {name for name in settings.LOGGING["loggers"] if name != "retwis"} == set(documented)
    for name, level in documented.items():
        configured = settings.LOGGING["loggers"].get(name, {"level": level})
        assert configured["level"] == level
        assert hasattr(logging, level)
