"""`q=0` refuses: every header with weights that the site reads."""

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from hypothesis import given, strategies as st

from retwis_site.http.language import language_of, wanted_and_refused
from retwis_site.middleware import SiteMiddleware

STYLE = b"body { color: black }" * 200


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("xx, de;q=0", "en"),
        ("ar;q=0, de", "de"),
        ("de;q=0.000, ar;q=0.001", "ar"),
        ("DE ; Q = 0 , xx", "en"),
        ("de-AT, de;q=0", "en"),
        ("de-AT;q=0, de", "de"),
        ("de-AT;q=0, xx", "en"),
        ("en;q=0, xx", "de"),
        ("en;q=0, de;q=0", "ar"),
        ("*, en;q=0", "de"),
        ("*;q=0, ar", "ar"),
        ("*;q=0", "en"),
        (", ".join(f"{code};q=0" for code, _ in settings.LANGUAGES), "en"),
    ],
)
def test_a_page_is_in_no_language_that_is_refused(accepted, language):
    assert language_of(RequestFactory().get("/", headers={"Accept-Language": accepted})) == language


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("gzip;q=0", None),
        ("br, gzip; q=0.0", None),
        ("gzip;q=0.001", "gzip"),
        ("gzip;q=0, *", None),
        ("identity;q=0, gzip", "gzip"),
        ("*;q=0", None),
        (None, None),
    ],
)
def test_a_static_file_is_in_no_coding_that_is_refused(tmp_path, settings, accepted, coding):
    (tmp_path / "a.css").write_bytes(STYLE)
    (tmp_path / "a.css.gz").write_bytes(gzip.compress(STYLE))
    settings.STATIC_ROOT = tmp_path
    site = SiteMiddleware(lambda request: HttpResponse("a page"))
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    answer = site(RequestFactory().get(f"{settings.STATIC_URL}a.css", headers=headers))
    assert answer.get("Content-Encoding") == coding
    body = b"".join(answer)
    answer.close()
    assert (gzip.decompress(body) if coding else body) == STYLE


def test_no_other_header_with_weights_is_read():
    """Nothing reads `Accept`, since each page has one form. Code that reads another such header must ask
    `wanted_and_refused`, and its header must be named here."""
    code = "\n".join(
        path.read_text()
        for folder in ("accounts", "retwis_site", "timeline")
        for path in Path(settings.BASE_DIR, folder).rglob("*.py")
    )
    assert {*re.findall(r"HTTP_ACCEPT\w*", code)} == {"HTTP_ACCEPT_LANGUAGE", "HTTP_ACCEPT_ENCODING"}
    assert not re.search(r"request\.accepts\(|get_preferred_type|GZipMiddleware", code)


@given(st.text(alphabet="ade-;q=0. ,*1Q\t", max_size=60))
def test_what_is_wanted_refuses_nothing(header):
    wanted, _ = wanted_and_refused(header)
    assert wanted_and_refused(wanted) == (wanted, frozenset())
