from tests.support.own_feature.thanks import THANK
from timeline.relations.feature import feature_of

FEATURE = feature_of(THANK, urls="tests.support.own_feature.thanks")
