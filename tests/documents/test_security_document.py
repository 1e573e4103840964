"""docs/security.md: each requirement has its place, each test that it names exists, and what it decides is so."""

import ast
import logging
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import get_resolver

from accounts.signing_in.forms import LONGEST_NAME
from accounts.signing_in.passwords import LONGEST_PASSWORD, LeanArgon2PasswordHasher
from accounts.signing_in.responses import COOKIE_LIVES
from retwis_site.features import features
from retwis_site.store import keys
from retwis_site.store.ids import LARGEST_ID
from tests.support.asvs import DOCUMENT, part, requirements, rows
from timeline.posts import drafts
from timeline.posts.entities import LONGEST_POST

ROOT = Path(settings.BASE_DIR)
HOLDS, EXCEPTIONS, OPERATORS = "What holds", "Exceptions", "What is the operator's"


def numbers(title):
    return [number for row in rows(title) for number in row[0].split(", ")]


def beside_the_point():
    """Every requirement that does not apply; a chapter or section stands for all of its own."""
    marked = re.findall(r"^- \*\*([^*]+)\*\*: ", part("What does not apply"), re.MULTILINE)
    listed = [name.removeprefix("V") for line in marked for name in line.split(", ")]
    found = [number for number in requirements() for name in listed if f"{number}.".startswith(f"{name}.")]
    assert {name for name in listed if not any(f"{number}.".startswith(f"{name}.") for number in found)} == set()
    return found


# ---- the table


def test_the_standard_has_as_many_requirements_of_each_level_as_it_should():
    levels = list(requirements().values())
    assert [levels.count(level) for level in (1, 2, 3)] == [70, 183, 92]


def test_every_requirement_of_levels_1_and_2_has_its_place():
    asked = {number for number, level in requirements().items() if level <= 2}
    places = [*numbers(HOLDS), *numbers(EXCEPTIONS), *numbers(OPERATORS), *beside_the_point()]
    assert asked - set(places) == set()
    assert set(places) - set(requirements()) == set()


def test_none_has_two_places_but_what_holds_only_in_part():
    for title in (HOLDS, EXCEPTIONS, OPERATORS):
        assert len(numbers(title)) == len(set(numbers(title)))
    applies = [*numbers(EXCEPTIONS), *numbers(OPERATORS)]
    assert len(applies) == len(set(applies))
    assert not set(beside_the_point()) & {*numbers(HOLDS), *applies}
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
def test_every_line_is_whole(title):
    width = {HOLDS: 4, EXCEPTIONS: 4, OPERATORS: 3}[title]
    for row in rows(title):
        assert len(row) == width, row
        assert all(row), row


def test_every_link_leads_somewhere():
    headings = re.findall(r"^#+ (.*)$", DOCUMENT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", DOCUMENT):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not target.startswith("https://"):
            assert (ROOT / "docs" / target).exists(), target


# ---- what is decided


def decided(title):
    """A table as a dict from its first column to the rest."""
    return {row[0]: row[1:] for row in rows(title)}


def test_every_address_says_who_may_use_it():
    patterns, names = list(get_resolver().url_patterns), []
    while patterns:
        pattern = patterns.pop()
        patterns += getattr(pattern, "url_patterns", [])
        names += [pattern.name] if hasattr(pattern, "name") else []
    documented = re.findall(r"`(\w+)`", " ".join(what for [what] in decided("Who may do what").values()))
    assert sorted(documented) == sorted(names)


def test_what_may_be_typed_is_what_the_code_takes():
    rules = {what: rule for what, [rule] in decided("What may be typed").items()}
    assert f"1 to {LONGEST_NAME} of" in rules["a username"]
    assert f"8 to {LONGEST_PASSWORD} characters" in rules["a password"]
    assert f"1 to {LONGEST_POST} characters" in rules["a post"]
    assert f"from 1 to {LARGEST_ID};" in rules["an id, a cursor"]
    assert f"up to {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes" in rules["a body"]


def test_how_often_is_what_the_code_counts():
    limits = [limit for feature in features() for limit in feature.limits]
    documented = {what: (int(times), int(minutes)) for what, (times, minutes, _) in decided("How often").items()}
    assert len(limits) == len(documented)
    for limit in limits:
        (what,) = [what for what in documented if limit.what.startswith(what)]
        assert documented[what] == (limit.times, limit.seconds // 60)


def test_a_session_lives_as_long_as_it_says():
    assert f"for {COOKIE_LIVES // 86400} days" in " ".join(part("Passwords and sessions").split())
    assert drafts.LIVES == 3600
    assert "an hour" in decided("What is secret")["texts not posted yet"][1]


def test_what_is_secret_are_keys_of_the_site():
    named = {key for _, where, _ in rows("What is secret") for key in re.findall(r"`([^`]+)`", where)} - {"draft"}
    assert {"user:<uid>", "auths"} <= named
    documented = re.findall(
        r"`([^`]+)`", " ".join(line.split("|")[1] for line in keys.__doc__.splitlines() if "|" in line)
    )
    assert named - set(documented) == set()


def test_the_inventory_of_cryptography_is_the_codes():
    made_with = {what: how for what, (how, _) in decided("Keys, hashes and chance").items()}
    hasher = LeanArgon2PasswordHasher
    assert f"{hasher.memory_cost} KiB, t={hasher.time_cost}, p={hasher.parallelism}" in made_with["passwords"]
    assert made_with["sign-in secrets"].startswith("128 bits")
    assert "SHA-256" in made_with["throttled accounts"]


def test_every_logger_is_in_the_inventory():
    documented = {name.strip("`"): level for name, (level, _) in decided("What is written down").items()}
    source = "\n".join(
        path.read_text() for app in ("retwis_site", "accounts", "timeline") for path in (ROOT / app).rglob("*.py")
    )
    ours = set(re.findall(r'getLogger\("([\w.]+)"\)', source))
    assert ours
    assert ours | {name for name in settings.LOGGING["loggers"] if name != "retwis"} == set(documented)
    for name, level in documented.items():
        configured = settings.LOGGING["loggers"].get(name, {"level": level})
        assert configured["level"] == level
        assert hasattr(logging, level)
