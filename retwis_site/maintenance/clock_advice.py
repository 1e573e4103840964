"""Advice on the clock of this machine, which makes ids with POST_IDS=snowflake."""

from django.conf import settings

from retwis_site.exceptions import WrongClock
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys, snowflake
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

_HINT = "Set the clocks of all machines, with NTP. Until then, no one can post or register here."


def clock_advice() -> list[Advice]:
    """Whether this machine can make ids. No round trip."""
    if settings.POST_IDS != "snowflake":
        return []
    try:
        snowflake.make()
    except WrongClock as error:
        return [Advice("retwis.E005", f"No id can be made: {error}", _HINT)]
    return []


def ids_ahead(store: Store) -> list[Advice]:
    """Whether the newest posts are of a time that has not come. One round trip; none with counted ids."""
    if settings.POST_IDS != "snowflake":
        return []
    pipe = store.pipeline()
    asked = [pipe.zrevrange(key, 0, 0) for key in keys.whatever_shards("recent")]
    pipe.execute()
    newest = [pid for members in asked for text in members.value if (pid := parse_id(text)) is not None]
    ahead = [pid for pid in newest if snowflake.is_ahead(pid)]
    if not ahead:
        return []
    text = f"The id of post {max(ahead)} is of a time that has not come: it stands above all posts until then."
    hint = "A machine's clock was ahead, or the clock of this one is behind. Set the clocks of all machines, with NTP."
    return [Advice("retwis.W016", text, hint)]
