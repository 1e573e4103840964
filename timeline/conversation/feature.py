"""Conversation: the page of a post with its thread."""

from retwis_site.features import Feature
from timeline.conversation.limits import ACTIONS

FEATURE = Feature(urls="timeline.conversation.urls", limits=(ACTIONS,))
