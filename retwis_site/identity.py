"""The site's own words, in the hash `site`: its name, its rules, who may join. Every page shows some of them.

A process keeps them for five seconds. After that, the next page asks for them in the round trip that checks its viewer.
"""

import logging
import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from django.utils.translation import gettext as _

from retwis_site.exceptions import StoreError
from retwis_site.http.form_fields import is_visible
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result, Store, answer
from retwis_site.store.ids import parse_number
from retwis_site.store.local_cache import Memory

logger = logging.getLogger("retwis.store")

Mode = Literal["open", "approval", "invite", "closed"]
MODES: tuple[Mode, ...] = get_args(Mode)

DEFAULT_NAME = "Retwis"
DEFAULT_INVITES = 5
FOR_STAFF = "staff"
COLOURS = ("pine", "ocean", "plum", "brick", "slate")  # retwis.css has each, in both themes


class Site(NamedTuple):
    """The site's own words. An empty text stands for the default, which is in the reader's language."""

    name: str = DEFAULT_NAME
    tagline: str = ""
    colour: str = COLOURS[0]
    about: str = ""
    rules: str = ""  # a line for each
    privacy: str = ""
    contact: str = ""
    announcement: str = ""
    registration: Mode = "open"
    invites: int = DEFAULT_INVITES  # open invitations that a member may have; 0: only the operator invites
    second_factor: str = ""  # FOR_STAFF: their pages need one
    announced: str = ""  # the id of the change that set the announcement: the same words set again are another one

    @property
    def numbered_rules(self) -> list[str]:
        """The rules, without lines that nobody can see. Rule 1 is the first."""
        return [line.strip() for line in self.rules.splitlines() if is_visible(line)]

    @property
    def can_register(self) -> bool:
        """Whether people may register without an invitation, perhaps with an approval."""
        return self.registration in ("open", "approval")

    @property
    def shown_tagline(self) -> str:
        """The tagline, or the default in the active language."""
        if self.tagline:
            return self.tagline
        return _("%(site)s is a small open microblog that stores everything in Redis.") % {"site": self.name}


DEFAULT = Site()
FIELDS = Site._fields

FRESH_FOR = 5  # seconds
_fresh: Memory[str, Site] = Memory(size=2, seconds=FRESH_FOR)
_last: Memory[str, Site] = Memory(size=2, seconds=math.inf)


def ask_site(pipe: Pipe) -> Result[Site]:
    """The site's words, at most five seconds old. No command while they are cached."""
    cached = _fresh.get("site")
    return ask_stored_site(pipe) if cached is None else Result(lambda: cached)


def ask_stored_site(pipe: Pipe) -> Result[Site]:
    """The site's words as they stand in the store."""
    stored = pipe.hgetall(keys.site())

    def keep() -> Site:
        site = read(stored.value)
        _last.put("site", site)
        _fresh.put("site", site)
        return site

    return Result(keep)


def shown_site(store: Store) -> Site:
    """The site's words for the frame of a page: `known_site` while the store fails. Such a page asks the store for
    nothing else. What a user may do is never decided by it. No round trip while they are cached, else one."""
    try:
        return answer(store, ask_site)
    except StoreError as error:
        logger.error("a page is shown with the words of the site that were read last: %s", error)
        return known_site()


def known_site() -> Site:
    """The words that this process has read last, or the defaults. No round trip: for pages while the store fails."""
    return _last.get("site") or DEFAULT


def read(stored: Mapping[str, str]) -> Site:
    """The site from its hash. A field with a value that no form would accept counts as absent."""
    texts = {field: stored.get(field, "") for field in FIELDS}
    mode, invites = texts.pop("registration"), parse_number(texts.pop("invites"))
    texts["name"] = texts["name"] or DEFAULT_NAME
    texts["colour"] = texts["colour"] if texts["colour"] in COLOURS else COLOURS[0]
    texts["second_factor"] = texts["second_factor"] and FOR_STAFF
    texts["contact"] = texts["contact"].removeprefix("mailto:")  # of the address alone, pages make a link
    return Site(
        **texts,
        registration=next((known for known in MODES if known == mode), "open" if not mode else "closed"),
        invites=DEFAULT_INVITES if invites is None else invites,
    )


def forget() -> None:
    """The next page reads the words anew: they were just changed."""
    _fresh.clear()
