"""Relations: their edges and counts, and the ranking of users by their number of followers."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import AccountSet, Feature
from retwis_site.maintenance.checks import Check
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.rate_limits import Limit
from timeline.relations.block import BLOCK
from timeline.relations.checks import EdgeChecks, RankingChecks, RepostChecks, TruthChecks
from timeline.relations.follow import FOLLOW
from timeline.relations.like import LIKE
from timeline.relations.lines import ABOUT_PEOPLE, account_lines
from timeline.relations.muted_words import WordChecks
from timeline.relations.protocol.edges import handler
from timeline.relations.protocol.relation import Relation
from timeline.relations.removal import RELATIONS, WITHOUT_MIRROR, remove_relations
from timeline.relations.repost import REPOST

# ---- How often a user may follow, and block or mute.


FOLLOWS = Limit(
    *("follow", 120, 3600, "follows"),
    _("Too many follows in a short time. The limit is %(times)d."),
)
BLOCKS = Limit(
    *("block", 120, 3600, "blocks and mutes"),
    _("Too many blocks and mutes in a short time. The limit is %(times)d."),
)


# ---- What it declares


def _inconsistencies(store: Store) -> list[Check]:
    return [
        *EdgeChecks(store, FOLLOW).inconsistencies(),
        *EdgeChecks(store, BLOCK).inconsistencies(),
        *RankingChecks(store).inconsistencies(),
        *EdgeChecks(store, LIKE).inconsistencies(),
        *EdgeChecks(store, REPOST).inconsistencies(),
        *RepostChecks(store).inconsistencies(),
        *(check for relation in WITHOUT_MIRROR for check in TruthChecks(store, relation).inconsistencies()),
        *WordChecks(store).inconsistencies(),
    ]


def _orphans(store: Store) -> list[Check]:
    return [
        *EdgeChecks(store, LIKE).orphans(),
        *EdgeChecks(store, REPOST).orphans(),
        *(check for relation in WITHOUT_MIRROR for check in TruthChecks(store, relation).orphans()),
        *WordChecks(store).orphans(),
    ]


def _account_set(relation: Relation) -> AccountSet:
    return AccountSet(relation.truth, lambda uid, target: {f"{relation.kind}:{uid}:{target}"})


FEATURE = Feature(
    urls="timeline.relations.actions",
    # Reposts are delivered, so `posts` has their jobs.
    jobs={relation.kind: handler(relation) for relation in RELATIONS if relation is not REPOST},
    limits=(FOLLOWS, BLOCKS),
    inconsistencies=_inconsistencies,
    orphans=_orphans,
    account_lines=account_lines,
    site_lines=ABOUT_PEOPLE,
    account_sets=(
        *map(_account_set, RELATIONS),
        AccountSet(keys.followers, lambda uid, them: {f"follow:{them}:{uid}"}),
        AccountSet(keys.blocked_by, lambda uid, them: {f"block:{them}:{uid}"}),
    ),
    remove_account=remove_relations,
)
