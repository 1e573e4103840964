"""Notices: what others did that concerns a user, their pages, and the number of new ones."""

from retwis_site.features import AccountSet, Feature
from retwis_site.http.form_fields import hidden
from retwis_site.store import keys
from timeline.notices import CAN_BE_QUIET, SITE_LINES, NoticeChecks, account_lines, ask_new, at_work_on

FEATURE = Feature(
    urls="timeline.notifications.views",
    viewer_numbers={"news": ask_new},
    form_fields={"notification_settings": hidden(*CAN_BE_QUIET)},
    searchers=(NoticeChecks,),
    account_lines=account_lines,
    site_lines=SITE_LINES,
    account_sets=(AccountSet(keys.notices, at_work_on),),
)
