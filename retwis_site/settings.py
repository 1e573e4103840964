"""Every setting of the site, read from the environment. docs/running.md lists those for operators."""

import logging
import os
import re
import secrets
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from retwis_site import environment
from retwis_site.environment import env, list_of, matching, number, one_of, switch

PACKAGE = Path(__file__).resolve().parent
IN_CHECKOUT = (PACKAGE.parent / "manage.py").is_file()
BASE_DIR = PACKAGE.parent if IN_CHECKOUT else Path.cwd()  # var/ is there
FILES_DIR = PACKAGE.parent if IN_CHECKOUT else PACKAGE  # templates/, locale/ and docs/book/; the wheel has them here


def kept_secret(path: Path) -> str:
    """The secret in the file `path`, created on first use. Two processes that start together get the same secret.
    Raises ImproperlyConfigured."""
    try:
        return path.read_text().strip() if path.exists() else _make_secret(path)
    except OSError as error:
        fix = "Set VAR_DIR to a folder that the site may write, or SECRET_KEY."
        raise ImproperlyConfigured(f"No secret can be kept in {path}: {error.strerror}. {fix}") from error


def _make_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48))
        os.link(fresh, path)  # link, not rename: the first process wins
    except FileExistsError:
        pass
    finally:
        fresh.unlink(missing_ok=True)
    return path.read_text().strip()


ENV_FILE = env("RETWIS_ENV_FILE", str)
IN_ENV_FILE = environment.read_env_file(ENV_FILE) if ENV_FILE else set[str]()

# --- The site ---------------------------------------------------------------------------------------------------------

VAR_DIR = Path(env("VAR_DIR", str) or BASE_DIR / "var").resolve()  # files of the site: secret, store, static files
DEBUG = env("DEBUG", switch, "0")
HTTPS = env("HTTPS", switch, "0")
REDIS_URL = env("REDIS_URL", str)  # empty: the embedded server
SECRET_KEY = env("SECRET_KEY", str) or kept_secret(VAR_DIR / "secret_key")
_NAMES = env("ALLOWED_HOSTS", list_of(environment.host))
ALLOWED_HOSTS = _NAMES or ["localhost", "127.0.0.1", "[::1]"]
PUBLIC = HTTPS or bool(_NAMES)  # whether others reach the site: then it never starts a store of its own
CSRF_TRUSTED_ORIGINS = env("CSRF_TRUSTED_ORIGINS", list_of(environment.origin))
PORT = env("PORT", number(1, 65535), "8000")
FIRST_HOST = ALLOWED_HOSTS[0].lstrip(".")
ORIGIN = f"http{'s' * HTTPS}://{FIRST_HOST}{'' if PUBLIC else f':{PORT}'}"
# How people reach the site: pages know it from the request, commands do not. GIVEN_ADDRESS: empty when nobody says it.
GIVEN_ADDRESS = env("SITE_ADDRESS", matching(r"https?://[!-.0-~]+", "an address, such as https://retwis.example"))
SITE_ADDRESS = GIVEN_ADDRESS or ORIGIN
# Where the site is on its host, such as /social; empty: at the top. gunicorn reads the variable too.
SCRIPT_NAME = env("SCRIPT_NAME", matching(r"(/[\w.-]+)+", "a path, such as /social"))
FORCE_SCRIPT_NAME = SCRIPT_NAME  # every address that Django makes begins with it, also those of commands
METRICS_PORT = env("METRICS_PORT", number(0, 65535), "0")  # where Prometheus reads; 0: there are no metrics
METRICS_HOST = env("METRICS_HOST", matching(r"[0-9a-z:._-]+", "an address, such as 127.0.0.1"), "127.0.0.1")
WEB_WORKERS = env("WEB_WORKERS", number(1, 999), "2")
TRUSTED_PROXIES = env("TRUSTED_PROXIES", number(0, 99), "0")  # the number of reverse proxies in front of the site
CONTACT = r"mailto:[!-?A-~]+@[!-?A-~]+|https://[!-~]+"
# Who hears of weaknesses; empty: no security.txt.
SECURITY_CONTACT = env("SECURITY_CONTACT", matching(CONTACT, "an address, such as mailto:security@retwis.example"))

LINK_CHECKS = env(
    "LINK_CHECKS", switch, "1"
)  # whether a worker asks the pages that profiles link to: do they link back?
MEDIA_MEMORY = env("MEDIA_MEMORY", environment.memory, "512mb")  # of the store, for all pictures; 0: there are none
MEDIA_QUOTA = env("MEDIA_QUOTA", environment.memory, "50mb")  # the same for those of one user
EXPLORE = env("EXPLORE", switch, "1")  # whether there is a page of what many people like; no other page is ranked
# Whether pages show what they send to Redis: on where a site is tried out. `inspector/middleware.py` says to whom.
INSPECT = env("INSPECT", switch, "0" if PUBLIC or REDIS_URL else "1")
# Whether the book about the site's Redis, docs/book/, is at /book/.
BOOK = env("BOOK", switch, "1" if INSPECT or DEBUG else "0")

DEMO_USER = "demo"  # `seed` creates this user, and `serve` prints how to log in
DEMO_PASSWORD = "retwis-demo"  # noqa: S105  public, for trials

INSTALLED_APPS = [
    "retwis_site",
    "accounts",
    "timeline",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "django.contrib.staticfiles",
]
# The features, in order: each builds on those before it. A feature is a folder with a `feature.py`.
FEATURES = [
    "accounts.users",
    "accounts.media",
    "accounts.signing_in",
    "accounts.apps",
    "accounts.recovery",
    "accounts.second_factor",
    "accounts.community",
    "accounts.facts",
    "accounts.inspector",
    "accounts.settings",
    "timeline.relations",
    "timeline.posts",
    "timeline.people",
    "timeline.timelines",
    "timeline.conversation",
    "timeline.moderation",
    "timeline.notifications",
    "timeline.tags",
    "timeline.search",
    *(["timeline.explore"] if EXPLORE else []),
    "timeline.first_steps",
    "timeline.api",
    "timeline.feeds",
    "timeline.account_data",
    *(["timeline.book"] if BOOK else []),
    "timeline.demo",
]
# The kinds of keys that features outside of this repository add: SCAN pattern -> type. docs/customising.md
KEY_KINDS: dict[str, str] = {}
MIDDLEWARE = [
    "retwis_site.middleware.SiteMiddleware",  # with what Django's own do: security, common, csrf, messages, locale
    "accounts.community.middleware.SanctionMiddleware",  # attaches the viewer
]
# W002 is X-Frame-Options, which `security_headers` sets. W001 and W003 look for Django's middlewares in the list: they
# are parts of SiteMiddleware. `retwis.E006` says when it is missing; checks.py warns of lax settings.
SILENCED_SYSTEM_CHECKS = ["security.W001", "security.W002", "security.W003"]
ROOT_URLCONF = "retwis_site.urls"
WSGI_APPLICATION = "retwis_site.wsgi.application"
_CONTEXT = ["django.template.context_processors.request", "django.contrib.messages.context_processors.messages"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": _CONTEXT, "builtins": ["retwis_site.rendering.linking"]},
    }
]
CSRF_FAILURE_VIEW = "retwis_site.rendering.pages.csrf_failure"
MESSAGE_STORAGE = "retwis_site.http.cookies.FlashStorage"  # Django's default needs a sessions table
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes of a request body; a larger one gets a 413
LARGEST_UPLOAD = 24 * 1024 * 1024  # the same, for a form with pictures (`Feature.uploads`); it gets a 422
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]  # no file of a user is on the disk
FILE_UPLOAD_MAX_MEMORY_SIZE = LARGEST_UPLOAD

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]  # each in its own language
LOCALE_PATHS = [FILES_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = f"{SCRIPT_NAME}/static/"
STATIC_ROOT = Path(env("STATIC_DIR", str) or VAR_DIR / "static").resolve()
STORAGES = {"staticfiles": {"BACKEND": "retwis_site.http.public_cache.HashedStaticFiles"}}
WHITENOISE_MIMETYPES = {".svg": "image/svg+xml; charset=utf-8"}
WHITENOISE_ROOT = PACKAGE / "root"  # icons that browsers request by fixed names
WHITENOISE_USE_FINDERS = True  # without `collectstatic`, files are served from their source folders

# --- Users and sessions -----------------------------------------------------------------------------------------------

COOKIE_PREFIX = "__Host-" if HTTPS else ""  # browsers accept such a cookie only from this host, over HTTPS
if SCRIPT_NAME:  # sites of one host share no cookie. A Path would keep none of them apart, and __Host- allows none
    COOKIE_PREFIX += f"{SCRIPT_NAME[1:].replace('/', '~')}-"
AUTH_COOKIE = f"{COOKIE_PREFIX}auth"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}language"
THROTTLE = env("THROTTLE", switch, "1")  # whether logins, registrations, posts and follows are rate limited
THROTTLES = environment.env_family("THROTTLE_", number(1, 1_000_000))  # by the name of a limit: another number of times
TRUSTED_NETWORKS = env("TRUSTED_NETWORKS", list_of(environment.network))  # limits for each address do not count these
AUTHENTICATION_BACKENDS = ["accounts.signing_in.passwords.RedisBackend"]
PASSWORD_HASHERS = [
    "accounts.signing_in.passwords.LeanArgon2PasswordHasher",
    "accounts.signing_in.passwords.TrimmingArgon2PasswordHasher",  # of adopted accounts, until they set another one
    # Only to verify what another Retwis has made. The first login replaces it.
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "accounts.signing_in.passwords.PhpBCryptPasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator")
]

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_AGE = 365 * 24 * 3600  # seconds, like a session
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [rf"^{re.escape(f'{SCRIPT_NAME}/'[1:])}(livez|readyz)$"]  # health checks use plain HTTP
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- The store --------------------------------------------------------------------------------------------------------

DATABASES: dict[str, dict[str, str]] = {}  # Redis is the only datastore
EMBEDDED = env("EMBEDDED", switch, "0")  # whether a public site may use the embedded server
REDIS_TOPOLOGY = env("REDIS_TOPOLOGY", one_of("server", "sentinel", "cluster", "twemproxy"), "server")
REDIS_SENTINEL_SERVICE = env("REDIS_SENTINEL_SERVICE", str)
REDIS_SENTINEL_USERNAME = env("REDIS_SENTINEL_USERNAME", str)  # of the sentinels; REDIS_URL has that of the primary
REDIS_SENTINEL_PASSWORD = env("REDIS_SENTINEL_PASSWORD", str)
REDIS_NODES = env("REDIS_NODES", list_of(str))  # behind a proxy: the servers, for commands that SCAN
REDIS_KEY_PREFIX = env("REDIS_KEY_PREFIX", str)
# Seconds to connect, and for each reply. Shorter where another server can take over.
REDIS_TIMEOUT = 0.5 if REDIS_TOPOLOGY in {"sentinel", "cluster"} else 1.0
# Ids of posts and users: from counters, or from the time.
POST_IDS = env("POST_IDS", one_of("incr", "snowflake"), "incr")
NODE_ID = env("NODE_ID", number(0, 31), "0")  # this machine's part of each id that is made from the time
MOST_SHARDS = 16
TIMELINE_SHARDS = env("TIMELINE_SHARDS", number(1, MOST_SHARDS), "1")  # lists: the global timeline
OUTBOX_SHARDS = env("OUTBOX_SHARDS", number(1, MOST_SHARDS), str(TIMELINE_SHARDS))  # sorted sets: the outbox
DELIVER_INLINE_LIMIT = env("DELIVER_INLINE_LIMIT", number(0), "1000")  # followers; with more, `deliver` does it
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},  # Django needs one
    "store": {
        "BACKEND": "retwis_site.store.connection.topology.StoreConnections",
        "LOCATION": REDIS_URL or "embedded",
        "OPTIONS": {"CONNECTION_FACTORY": "retwis_site.store.connection.topology.ConnectionFactory"},
    },
}

# --- Logging ----------------------------------------------------------------------------------------------------------

LOG_FORMAT = env("LOG_FORMAT", one_of("line", "json"), "line")
LOG_LEVEL = env("LOG_LEVEL", one_of("INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"), "INFO")
SLOW_REQUEST_MS = env("SLOW_REQUEST_MS", number(0), "1000")  # a request that takes longer is logged as slow; 0: never
_LINES = "retwis_site.telemetry.log_lines"

# All settings are read.
environment.refuse_misspelt(IN_ENV_FILE | {name for name in os.environ if name.startswith("RETWIS_")})


def _at_least(lowest: str) -> str:
    return max(lowest, LOG_LEVEL, key=logging.getLevelNamesMapping().__getitem__)


def _lines_of(level: str, handler: str = "console") -> dict[str, Any]:
    return {"handlers": [handler], "level": level, "propagate": False}


_FORMATTERS: dict[str, dict[str, str]] = {
    "line": {"()": f"{_LINES}.BoundedLine"},
    "json": {"()": f"{_LINES}.JsonLine"},
}
_console = {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["of_request"]}
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "not_503": {"()": f"{_LINES}.NotStoreFailures"},
        "without_traceback": {"()": f"{_LINES}.WithoutTraceback"},
        "of_request": {"()": f"{_LINES}.OfRequest"},
    },
    "formatters": {LOG_FORMAT: _FORMATTERS[LOG_FORMAT]},
    "handlers": {"console": _console, "security": _console | {"filters": ["of_request", "without_traceback"]}},
    "loggers": {
        "django": _lines_of(LOG_LEVEL),
        "django.request": _lines_of(_at_least("ERROR")) | {"filters": ["not_503"]},
        "django.security": _lines_of(_at_least("WARNING"), "security"),
        # What `runserver` says of each request: retwis.access says more, and no query.
        "django.server": _lines_of("CRITICAL"),
        "retwis": _lines_of(LOG_LEVEL),
        "authlib": _lines_of(_at_least("WARNING")),  # below that it says the tokens
    },
}
