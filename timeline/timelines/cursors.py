"""`?before=`: where a page begins. Ids, never offsets, so that what is posted meanwhile moves nothing."""

from retwis_site.exceptions import BadCursor
from retwis_site.store.ids import parse_id


def post_cursor(text: str | None) -> int | None:
    """The post id below which the page lies; None for the first page. Raises BadCursor."""
    if text is None:
        return None
    pid = parse_id(text)
    if pid is None:
        raise BadCursor(text)
    return pid
