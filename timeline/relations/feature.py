"""Relations: their edges and counts, and the ranking of users by their number of followers."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.maintenance.checks import Check, Searcher
from retwis_site.store.kinds import POST, OfId
from retwis_site.store.rate_limits import Limit
from timeline.relations import upkeep
from timeline.relations.edges import handler
from timeline.relations.muted_words import WordChecks
from timeline.relations.relation import Relation
from timeline.relations.relations import RELATIONS, REPOST, relations

# ---- How often a user may follow, and block or mute.


FOLLOWS = Limit("follow", 120, 3600, "follows", _("Too many follows in a short time."))
BLOCKS = Limit("block", 120, 3600, "blocks and mutes", _("Too many blocks and mutes in a short time."))


# ---- What it declares


class AllEdgeChecks(Searcher):
    """The checks of all relations, also of a site's own features."""

    def inconsistencies(self) -> list[Check]:
        mirrored = [relation for relation in relations() if isinstance(relation.mirror, OfId)]
        return [check for relation in mirrored for check in upkeep.EdgeChecks(self._store, relation).inconsistencies()]

    def orphans(self) -> list[Check]:
        to_posts = [relation for relation in relations() if relation.mirror and relation.leads_to == POST]
        edges = [check for relation in to_posts for check in upkeep.EdgeChecks(self._store, relation).orphans()]
        return [*edges, *upkeep.useless_entries(self._store)]


def feature_of(relation: Relation, **more: Any) -> Feature:
    """What a relation of a site's own feature adds to the site. `more`: what the feature declares besides
    jobs and lines, such as the addresses of its pages."""
    jobs, lines = {relation.kind: handler(relation)}, (upkeep.lines_of(relation),)
    return Feature(relations=(relation,), jobs=jobs, site_lines=lines, **more)


FEATURE = Feature(
    urls="timeline.relations.actions",
    # Reposts are delivered, so `posts` has their jobs.
    jobs={relation.kind: handler(relation) for relation in RELATIONS if relation is not REPOST},
    put_off={},
    limits=(FOLLOWS, BLOCKS),
    # Those of the ranking and of reposts rely on those of the edges.
    searchers=(AllEdgeChecks, upkeep.RankingChecks, upkeep.RepostChecks, WordChecks),
    account_lines=upkeep.account_lines,
    site_lines=upkeep.ABOUT_PEOPLE,
    relations=RELATIONS,
    recount=upkeep.recount_relations,
    remove_account=upkeep.remove_relations,
)
