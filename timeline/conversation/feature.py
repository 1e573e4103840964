"""Conversation: the page of a post with its thread."""

from django.utils.translation import gettext_lazy as _

from retwis_site.features import Feature
from retwis_site.store.rate_limits import Limit

# ---- How often a user may act on posts.


ACTIONS = Limit("act", 600, 3600, "actions", _("Too many actions in a short time."))


# ---- What it declares


FEATURE = Feature(urls="timeline.conversation.views", limits=(ACTIONS,))
