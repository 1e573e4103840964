"""Timelines: home, everyone, a profile. Home and everyone are cached lists."""

from retwis_site.features import Feature
from retwis_site.http.cookies import PersonalCookie
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys
from timeline.timelines.checks import TimelineChecks, TimelineOrphans
from timeline.timelines.html import LAST_READ_COOKIE
from timeline.timelines.profile import account_lines

FEATURE = Feature(
    urls="timeline.timelines.views",
    searchers=(TimelineChecks, TimelineOrphans),
    account_lines=account_lines,
    site_lines=(lines_of(keys.user.fields["pinned"]),),
    cookies=(PersonalCookie(LAST_READ_COOKIE, outlives_logout=True),),
)
