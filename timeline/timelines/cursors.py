"""The cursor `?before=`: where a page begins. It is an id, never an offset, so new posts do not move the page."""

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
