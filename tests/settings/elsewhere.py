"""For a process of its own beside the suite: the site on the store that REDIS_URL names."""

from tests.settings.base import *  # noqa: F403
