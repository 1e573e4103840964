"""The site's own settings, with the changes for every run of the test suite."""

import os

from tests.settings import folder

os.environ["VAR_DIR"] = folder("retwis-tests-")
os.environ["SECRET_KEY"] = "only for tests"
os.environ["BOOK"] = "1"

from retwis_site.settings import *  # noqa: F403

STATIC_ROOT.mkdir()  # noqa: F405  else whitenoise warns in every test

ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
# Tests register hundreds of users; one test uses the real hasher.
PASSWORD_HASHERS = ["tests.support.hashers.QuickArgon2PasswordHasher", *PASSWORD_HASHERS]  # noqa: F405
SITE_REDIS_TIMEOUT = REDIS_TIMEOUT  # noqa: F405  for `site_timeout`
REDIS_TIMEOUT = 20.0  # else a busy machine is a store that hangs; patient_settings.py has it for other processes
SLOW_REQUEST_MS = 0  # on a busy machine any request may take a second, and have one line more in the log
