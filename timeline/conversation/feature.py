"""Conversation: the page of a post with its thread."""

from retwis_site.features import Feature

FEATURE = Feature(urls="timeline.conversation.urls")
