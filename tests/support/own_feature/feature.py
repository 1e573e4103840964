from tests.support.own_feature.highlights import HIGHLIGHT
from timeline.relations.feature import feature_of

FEATURE = feature_of(HIGHLIGHT, urls="tests.support.own_feature.highlights")
