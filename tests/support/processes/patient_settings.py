"""The site's own settings in a process that a test starts, with a store that a busy machine may make slow. Where a test
is about a store that hangs, its process has `retwis_site.settings`."""

from retwis_site.settings import *  # noqa: F403

REDIS_TIMEOUT = 20.0
