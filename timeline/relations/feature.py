"""Follows, and the ranking of users by their number of followers."""

from retwis_site.features import AccountSet, Feature
from retwis_site.maintenance.checks import Check
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.relations.account_lines import account_lines
from timeline.relations.checks.follow_checks import FollowChecks
from timeline.relations.checks.ranking_checks import RankingChecks
from timeline.relations.follow import finish_follow
from timeline.relations.limits import FOLLOWS
from timeline.relations.removal import remove_relations
from timeline.relations.site_lines import FOLLOWS as FOLLOW_LINES


def _inconsistencies(store: Store) -> list[Check]:
    return [*FollowChecks(store).inconsistencies(), *RankingChecks(store).inconsistencies()]


FEATURE = Feature(
    urls="timeline.relations.urls",
    jobs={"follow": finish_follow},
    limits=(FOLLOWS,),
    inconsistencies=_inconsistencies,
    account_lines=account_lines,
    site_lines=(FOLLOW_LINES,),
    account_sets=(
        AccountSet(keys.following, lambda uid, them: {f"follow:{uid}:{them}"}),
        AccountSet(keys.followers, lambda uid, them: {f"follow:{them}:{uid}"}),
        AccountSet(keys.likes, lambda uid, pid: set()),
    ),
    remove_account=remove_relations,
)
