"""The banner that tells a frozen or hidden user so, on every page."""

from accounts.users.entities import Sanction, State
from retwis_site.rendering.dates import day
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Html

BANNER = Fragment(
    "accounts/signing_in/_banner.html",
    slots=("reason", "day"),
    shape={"state": (State.FROZEN.value, State.HIDDEN.value), "ends": EITHER, "has_reason": EITHER},
)


def banner(sanction: Sanction | None, language: str) -> Html:
    """The banner; nothing for a user on whom nothing is imposed."""
    if sanction is None:
        return NOTHING
    return BANNER.fill(
        language,
        state=sanction.state.value,
        ends=bool(sanction.until),
        has_reason=bool(sanction.reason),
        reason=sanction.reason or NOTHING,
        day=day(sanction.until, language),
    )
