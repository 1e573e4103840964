"""From which id on the posts of each week are: ids follow the time."""

from collections.abc import Sequence

from django.conf import settings

from retwis_site.store import keys, snowflake
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number

# Where the post in the middle does not exist, one of these after it says the time.
STEPS_ASIDE = (0, 1, 2, 4, 16, 256, 4096)


def first_ids(store: Store, times: Sequence[int], last: int) -> list[int]:
    """For each of these times (unix seconds), the lowest id of a post that is not older; `last`: an id of a new post.

    No round trip where POST_IDS is `snowflake`: posts of before that setting count as older. Else one for each halving
    of the ids, some 20 for a million posts, each with at most seven commands for each time. Where thousands of posts in
    a row do not exist, an id may be too low.
    """
    if settings.POST_IDS == "snowflake":
        return [snowflake.first_of(when) for when in times]
    below = [0] * len(times)  # ids that are older, or 0
    found = [last + 1] * len(times)
    while open_ := [number for number in range(len(times)) if found[number] - below[number] > 1]:
        pipe = store.pipeline()
        middles = {number: (below[number] + found[number]) // 2 for number in open_}
        asked = {
            number: [
                (pid, pipe.hget(keys.post(pid), "time"))
                for pid in (middle + aside for aside in STEPS_ASIDE)
                if pid < found[number]
            ]
            for number, middle in middles.items()
        }
        pipe.execute()
        for number in open_:
            known = ((pid, parse_number(when.value or "")) for pid, when in asked[number])
            pid, when = next(((pid, when) for pid, when in known if when is not None), (middles[number], None))
            if when is None or when >= times[number]:
                found[number] = pid
            else:
                below[number] = pid
    return found
