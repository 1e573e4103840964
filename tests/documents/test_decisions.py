"""docs/decisions.md: dated records, the newest last, and an index that leads to every one of them."""

import re
from pathlib import Path

from django.conf import settings

DOCUMENT = (Path(settings.BASE_DIR) / "docs/decisions.md").read_text()
RECORDS = re.findall(r"^## (.*)$", DOCUMENT, re.MULTILINE)


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_record_has_a_date_and_the_newest_is_last():
    dates = [record.partition(": ")[0] for record in RECORDS]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for date in dates)
    assert dates == sorted(dates)


def test_the_index_has_every_record_once_under_its_title():
    listed = re.findall(r"^- \[(.*)\]\(#(.*)\)$", DOCUMENT, re.MULTILINE)
    assert sorted(listed) == sorted((record.partition(": ")[2], anchor_of(record)) for record in RECORDS)
