"""docs/security.md: every requirement is in a table, every named test exists, and the rules agree with the code."""

import ast
import logging
import re

import pytest
from django.conf import settings
from django.urls import get_resolver

from accounts.signing_in.forms import LONGEST_USERNAME
from accounts.signing_in.guards import COOKIE_LIVES
from accounts.signing_in.passwords import LONGEST_PASSWORD, LeanArgon2PasswordHasher
from retwis_site.features import features
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.kinds import KINDS
from timeline.posts.composer import DRAFT_LIVES
from timeline.posts.entities import LONGEST_POST

ROOT = settings.BASE_DIR
DOCUMENT = (ROOT / "docs/security.md").read_text()
HOLDS, EXCEPTIONS, OPERATORS = "What holds", "Exceptions", "What is the operator's"


# ---- OWASP ASVS 5.0.0, and docs/security.md as tables

# Of each section, the levels of its requirements in their order: 70 of level 1, 183 of level 2, 92 of level 3.
LEVELS = """
    1.1 22   1.2 1111122223   1.3 112222222223   1.4 222   1.5 123
    2.1 122   2.2 112   2.3 12223   2.4 23
    3.1 3   3.2 113   3.3 12223   3.4 11222233   3.5 11122333   3.6 3   3.7 22333
    4.1 12233   4.2 23333   4.3 22   4.4 1222
    5.1 2   5.2 112333   5.3 113   5.4 222
    6.1 122   6.2 111111112222   6.3 11223333   6.4 112233   6.5 22222333   6.6 2223   6.7 33   6.8 2222
    7.1 222   7.2 1111   7.3 22   7.4 11222   7.5 223   7.6 22
    8.1 1233   8.2 1123   8.3 133   8.4 23
    9.1 111   9.2 1222
    10.1 22   10.2 223   10.3 22223   10.4 1111122222233333   10.5 22222   10.6 22   10.7 222
    11.1 2233   11.2 22233   11.3 11233   11.4 1222   11.5 23   11.6 23   11.7 33
    12.1 12233   12.2 11   12.3 22223
    13.1 2333   13.2 222223   13.3 2233   13.4 1222233
    14.1 22   14.2 12223333   14.3 122
    15.1 12233   15.2 12233   15.3 1222222   15.4 3333
    16.1 2   16.2 22222   16.3 2222   16.4 222   16.5 2223
    17.1 23   17.2 22223333   17.3 22
"""


def requirements() -> dict[str, int]:
    """The level of each requirement by its number."""
    return {
        f"{section}.{number}": int(level)
        for section, levels in re.findall(r"(\d+\.\d+) (\d+)", LEVELS)
        for number, level in enumerate(levels, 1)
    }


def part(title: str) -> str:
    """What stands under a heading, up to the next one of its kind or above."""
    (marks,) = re.findall(rf"^(#+) {re.escape(title)}$", DOCUMENT, re.MULTILINE)
    after = DOCUMENT.partition(f"{marks} {title}\n")[2]
    return re.split(rf"^#{{1,{len(marks)}}} ", after, maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    lines = [line for line in part(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


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
    names = {pattern.name for pattern in get_resolver().url_patterns} - {None}
    documented = re.findall(r"`(\w+)`", " ".join(what for [what] in table_of("Who may do what").values()))
    once = [name for name in names if not name.endswith("_slash")]  # the other form of an address
    assert sorted(documented) == sorted(once)


def test_what_may_be_typed_is_what_the_code_takes():
    rules = {what: rule for what, [rule] in table_of("What may be typed").items()}
    assert f"1 to {LONGEST_USERNAME} of" in rules["a username"]
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
    assert DRAFT_LIVES == 3600
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
