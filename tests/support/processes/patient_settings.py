"""The site for tests of what is right under load: a store that a busy machine makes slow is not a failure."""

from retwis_site.settings import *  # noqa: F403

REDIS_TIMEOUT = 20.0
