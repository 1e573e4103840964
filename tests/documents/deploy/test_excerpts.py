"""The files of deploy/ are the only text of their kind: documents show excerpts of them."""

import re

import pytest
from django.conf import settings

from tests.support.stores import acl_users

ROOT = settings.BASE_DIR
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNING = (ROOT / "docs/running.md").read_text()
EXCERPT = re.compile(r"^```\w+ (deploy/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXCERPTS = [(document, *found) for document in DOCUMENTS for found in EXCERPT.findall(document.read_text())]


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("document", "file", "text"), EXCERPTS, ids=[f"{one.name}:{file}" for one, file, _ in EXCERPTS]
)
def test_an_excerpt_stands_in_its_file(document, file, text):
    """A line `...` stands for lines that are left out."""
    lines = lines_of((ROOT / file).read_text())
    for run in map(lines_of, re.split(r"^\.\.\.$", text, flags=re.MULTILINE)):
        places = [start for start in range(len(lines)) if lines[start : start + len(run)] == run]
        assert places, f"{file} has not these lines:\n" + "\n".join(run)
        lines = lines[places[0] + len(run) :]


def test_documents_show_nginx_only_as_excerpts():
    assert {file for _, file, _ in EXCERPTS} >= {"deploy/nginx.conf", "deploy/retwis-web.service", "deploy/redis.conf"}
    for document in DOCUMENTS:
        assert re.findall(r"^```(?:nginx|dockerfile)$", document.read_text(), re.MULTILINE) == [], document


def test_the_table_has_every_file():
    files = {path.name for path in (ROOT / "deploy").iterdir() if path.is_file() and path.suffix != ".env"}
    assert set(re.findall(r"\]\(\.\./deploy/([\w.-]+)\)", RUNNING)) >= files


def test_the_users_are_those_of_the_document():
    users = (ROOT / "deploy/users.acl").read_text()
    for word, user in (("SITE", acl_users.SITE), ("ADMIN", acl_users.ADMIN)):
        users = users.replace(f"{word}-PASSWORD", acl_users.PASSWORDS[user])
    assert users.splitlines() == acl_users.lines()
