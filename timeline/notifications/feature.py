"""Notices: what others did that concerns a user, their pages, and the number of new ones."""

from retwis_site.features import Feature
from retwis_site.store import keys
from timeline.notices import SITE_LINES, NoticeChecks, account_lines, ask_new, at_work_on, tell_of_act

FEATURE = Feature(
    urls="timeline.notifications.views",
    viewer_numbers={"news": ask_new},
    searchers=(NoticeChecks,),
    account_lines=account_lines,
    site_lines=SITE_LINES,
    account_sets={keys.notices: at_work_on},
    after_act=tell_of_act,
)
