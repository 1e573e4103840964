"""For other processes that tests start: the site on the store at REDIS_URL."""

from tests.settings.base import *  # noqa: F403
