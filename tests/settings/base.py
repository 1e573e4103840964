"""The site's own settings, with what every run of the suite changes."""

import os

from tests.settings import folder

for name in ("DEBUG", "HTTPS", "THROTTLE", "REDIS_KEY_PREFIX", "REDIS_TOPOLOGY", "TRUSTED_PROXIES", "ALLOWED_HOSTS"):
    os.environ.pop(name, None)
os.environ["VAR_DIR"] = folder("retwis-tests-")
os.environ["SECRET_KEY"] = "only for tests"

from retwis_site.settings import *  # noqa: E402, F403

STATIC_ROOT.mkdir()  # noqa: F405  whitenoise would warn in every test

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
# Hundreds of registrations; the real hasher has a test of its own.
PASSWORD_HASHERS = ["tests.hashers.QuickArgon2PasswordHasher", "accounts.hashers.LeanArgon2PasswordHasher"]
