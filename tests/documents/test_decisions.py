"""docs/decisions.md: dated records of a few lines, the newest last."""

import re

from django.conf import settings

DOCUMENT = (settings.BASE_DIR / "docs/decisions.md").read_text()
MOST_LINES = 6
RECORDS = dict(record.split("\n", 1) for record in re.split(r"^## ", DOCUMENT, flags=re.MULTILINE)[1:])


def test_every_record_has_a_date_and_the_newest_is_last():
    dates = [title.partition(": ")[0] for title in RECORDS]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for date in dates)
    assert dates == sorted(dates)


def test_a_record_has_a_few_lines():
    lines = {title: len([line for line in record.splitlines() if line]) for title, record in RECORDS.items()}
    assert {title: number for title, number in lines.items() if not 0 < number <= MOST_LINES} == {}
