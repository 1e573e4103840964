"""Follows and likes, their counts, and the ranking of users by their number of followers."""

from retwis_site.features import AccountSet, Feature
from retwis_site.maintenance.checks import Check
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.relations.account_lines import account_lines
from timeline.relations.checks.count_checks import PostCountChecks
from timeline.relations.checks.edge_checks import EdgeChecks
from timeline.relations.checks.ranking_checks import RankingChecks
from timeline.relations.follow import FOLLOW
from timeline.relations.like import LIKE, LIKES
from timeline.relations.limits import FOLLOWS
from timeline.relations.protocol.edges import handler
from timeline.relations.removal import RELATIONS, remove_relations
from timeline.relations.site_lines import FOLLOWS as FOLLOW_LINES


def _inconsistencies(store: Store) -> list[Check]:
    return [
        *EdgeChecks(store, FOLLOW).inconsistencies(),
        *RankingChecks(store).inconsistencies(),
        *EdgeChecks(store, LIKE).inconsistencies(),
        *PostCountChecks(store, LIKE, LIKES).inconsistencies(),
    ]


FEATURE = Feature(
    urls="timeline.relations.urls",
    jobs={relation.kind: handler(relation) for relation in RELATIONS},
    limits=(FOLLOWS,),
    inconsistencies=_inconsistencies,
    orphans=lambda store: EdgeChecks(store, LIKE).orphans(),
    account_lines=account_lines,
    site_lines=(FOLLOW_LINES,),
    account_sets=(
        AccountSet(keys.following, lambda uid, them: {f"follow:{uid}:{them}"}),
        AccountSet(keys.followers, lambda uid, them: {f"follow:{them}:{uid}"}),
        AccountSet(keys.likes, lambda uid, pid: {f"like:{uid}:{pid}"}),
    ),
    remove_account=remove_relations,
)
