"""The site's own settings, with what every run of the suite changes."""

import os

from tests.settings import folder

os.environ["VAR_DIR"] = folder("retwis-tests-")
os.environ["SECRET_KEY"] = "only for tests"

from retwis_site.settings import *  # noqa: F403

STATIC_ROOT.mkdir()  # noqa: F405  whitenoise would warn in every test

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
# Hundreds of registrations; the real hasher has a test of its own.
PASSWORD_HASHERS = [
    "tests.support.hashers.QuickArgon2PasswordHasher",
    "accounts.signing_in.passwords.LeanArgon2PasswordHasher",
]
