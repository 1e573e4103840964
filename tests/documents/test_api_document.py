"""docs/api.md lists the calls of apps, with the scope that each needs."""

import re

from django.conf import settings

from accounts.apps.views import urlpatterns
from timeline.api.views import ENDPOINTS

ROW = re.compile(r"^\| (`(?:GET|POST|PUT|PATCH|DELETE) .+?) \|(?: `([\w:]+)`(, or a visitor)?)? \|", re.MULTILINE)


def test_the_document_lists_each_call_with_its_scope():
    text = (settings.BASE_DIR / "docs/api.md").read_text()
    documented = [
        (*call.split(" "), scope, bool(visitor))
        for calls, scope, visitor in ROW.findall(text)
        for call in re.findall(r"`(.+?)`", calls)
    ]
    of_oauth = {address for _, address, _, _ in documented if "oauth" in address}
    listed = [row for row in documented if row[1] not in of_oauth]
    assert sorted(listed) == sorted((one.method, one.address, one.scope, one.open_to_visitors) for one in ENDPOINTS)
    assert of_oauth == {f"/{one.pattern}".rstrip("/") for one in urlpatterns if "oauth" in str(one.pattern)}
