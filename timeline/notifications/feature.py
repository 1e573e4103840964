"""Notices: what others did that concerns a user."""

from retwis_site.features import AccountSet, Feature
from retwis_site.store import keys
from timeline.notices.checks import NoticeChecks, at_work_on
from timeline.notices.removal import remove_notices

FEATURE = Feature(
    inconsistencies=lambda store: NoticeChecks(store).inconsistencies(),
    orphans=lambda store: NoticeChecks(store).orphans(),
    account_sets=(AccountSet(keys.notices, at_work_on),),
    remove_account=remove_notices,
)
