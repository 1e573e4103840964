"""Every setting of the site, read from the environment. docs/running.md lists those for operators."""

import logging
import os
import re
import secrets
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from dotenv.parser import parse_stream

PACKAGE = Path(__file__).resolve().parent
IN_CHECKOUT = (PACKAGE.parent / "manage.py").is_file()
BASE_DIR = PACKAGE.parent if IN_CHECKOUT else Path.cwd()  # var/ is there
TOO_LATE = {"PYTHONPATH", "DJANGO_SETTINGS_MODULE"}  # what Python and Django read before this module
FILES_DIR = PACKAGE.parent if IN_CHECKOUT else PACKAGE  # templates/, locale/ and docs/book/; the wheel has them here


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def env_on(name: str, default: str = "") -> bool:
    return env(name, default).lower() in {"1", "true", "yes", "on"}


def env_list(name: str, default: str = "") -> list[str]:
    return [part for part in (piece.strip() for piece in env(name, default).split(",")) if part]


def env_number(name: str, default: int) -> int:
    value = env(name, str(default))
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name}={value!r}: a whole number is needed, such as {name}={default}.")
    return int(value)


def env_within(name: str, default: int, lowest: int, highest: int) -> int:
    value = env_number(name, default)
    if not lowest <= value <= highest:
        raise ImproperlyConfigured(f"{name}={value}: a number from {lowest} to {highest} is needed.")
    return value


def env_one_of(name: str, *values: str) -> str:
    value = env(name, values[0])
    if value not in values:
        raise ImproperlyConfigured(f"{name}={value!r} is not known. Set one of: {', '.join(values)}.")
    return value


def env_networks(name: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(network) for network in env_list(name)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}. Write networks, such as {name}=10.0.0.0/8,fd00::/8.") from error


def env_matching(name: str, pattern: str, such: str, default: str = "") -> str:
    value = env(name, default)
    if value and not re.fullmatch(pattern, value):
        raise ImproperlyConfigured(f"{name}={value!r}: an address is needed, such as {such}.")
    return value


def read_env_file(path: str) -> None:
    """Add the variables of a file in dotenv form to the environment; a variable that is set already keeps its value.

    Values are taken as they are written: `${...}` is not replaced. Raises ImproperlyConfigured for a file that cannot
    be read, for a line that is no setting (python-dotenv would leave it out, and the site would run without it), and
    for a variable that comes TOO_LATE, unless the environment has it too."""
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            lines = list(parse_stream(file))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ImproperlyConfigured(f"RETWIS_ENV_FILE={path!r} cannot be read: {reason}.") from error
    for line in lines:
        if line.error or (line.key is not None and line.value is None) or "\0" in line.original.string:
            raise ImproperlyConfigured(f"RETWIS_ENV_FILE={path!r}, line {line.original.line}: write NAME=value.")
        if line.key in TOO_LATE and os.environ.get(line.key) != line.value:
            raise ImproperlyConfigured(
                f"RETWIS_ENV_FILE={path!r} has {line.key}, and is read too late for it. Set it in the environment."
            )
        if line.key is not None and line.value is not None:
            os.environ.setdefault(line.key, line.value)


def kept_secret(path: Path) -> str:
    """The secret in the file `path`, created on first use. Two processes that start together get the same secret."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    fresh.touch(mode=0o600)
    fresh.write_text(secrets.token_urlsafe(48))
    try:
        os.link(fresh, path)  # link, not rename: the first process wins
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text().strip()


if ENV_FILE := env("RETWIS_ENV_FILE"):
    read_env_file(ENV_FILE)

# --- The site ---------------------------------------------------------------------------------------------------------

VAR_DIR = Path(env("VAR_DIR") or BASE_DIR / "var").resolve()  # files of the site: secret, store, static files
DEBUG = env_on("DEBUG")
HTTPS = env_on("HTTPS")
SECRET_KEY = env("SECRET_KEY") or kept_secret(VAR_DIR / "secret_key")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
PUBLIC = HTTPS or bool(env("ALLOWED_HOSTS"))  # whether others reach the site: then it never starts a store of its own
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
PORT = env_number("PORT", 8000)
FIRST_HOST = next((host.lstrip(".") for host in ALLOWED_HOSTS if host != "*"), "localhost")
ORIGIN = f"http{'s' * HTTPS}://{FIRST_HOST}{'' if PUBLIC else f':{PORT}'}"
# How people reach the site: pages know it from the request, commands do not.
SITE_ADDRESS = env_matching("SITE_ADDRESS", r"https?://[!-.0-~]+", "https://retwis.example", ORIGIN)
# Where the site is on its host, such as /social; empty: at the top. gunicorn reads the variable too.
SCRIPT_NAME = env_matching("SCRIPT_NAME", r"(/[\w.-]+)+", "/social")
FORCE_SCRIPT_NAME = SCRIPT_NAME or None  # every address that Django makes begins with it, also those of commands
METRICS_PORT = env_within("METRICS_PORT", 0, 0, 65535)  # where Prometheus reads; 0: there are no metrics
METRICS_HOST = env("METRICS_HOST", "127.0.0.1")
WEB_WORKERS = max(1, env_number("WEB_WORKERS", 2))
TRUSTED_PROXIES = env_number("TRUSTED_PROXIES", 0)  # the number of reverse proxies in front of the site
CONTACT = r"mailto:[!-?A-~]+@[!-?A-~]+|https://[!-~]+"
# Who hears of weaknesses; empty: no security.txt.
SECURITY_CONTACT = env_matching("SECURITY_CONTACT", CONTACT, "mailto:security@retwis.example")

EXPLORE = env_on("EXPLORE", "1")  # whether there is a page of what many people like; no other page is ranked
# Whether pages show what they send to Redis: on where a site is tried out. `inspector/middleware.py` says to whom.
INSPECT = env_on("INSPECT", "" if PUBLIC or env("REDIS_URL") else "1")
# Whether the book about the site's Redis, docs/book/, is at /book/.
BOOK = env_on("BOOK", "1" if INSPECT or DEBUG else "")

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
    "accounts.signing_in",
    "accounts.recovery",
    "accounts.community",
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
CSRF_FAILURE_VIEW = "retwis_site.rendering.error_pages.csrf_failure"
MESSAGE_STORAGE = "retwis_site.http.cookies.FlashStorage"  # Django's default needs a sessions table
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes of a request body; a larger one gets a 413

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]  # each in its own language
LOCALE_PATHS = [FILES_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = f"{SCRIPT_NAME}/static/"
STATIC_ROOT = Path(env("STATIC_DIR") or VAR_DIR / "static").resolve()
STORAGES = {"staticfiles": {"BACKEND": "retwis_site.http.static_files.HashedStaticFiles"}}
WHITENOISE_MIMETYPES = {".svg": "image/svg+xml; charset=utf-8"}
WHITENOISE_ROOT = PACKAGE / "root"  # icons that browsers request by fixed names
WHITENOISE_USE_FINDERS = True  # without `collectstatic`, files are served from their source folders

# --- Users and sessions -----------------------------------------------------------------------------------------------

COOKIE_PREFIX = "__Host-" if HTTPS else ""  # browsers accept such a cookie only from this host, over HTTPS
if SCRIPT_NAME:  # sites of one host share no cookie. A Path would keep none of them apart, and __Host- allows none
    COOKIE_PREFIX += f"{SCRIPT_NAME[1:].replace('/', '~')}-"
AUTH_COOKIE = f"{COOKIE_PREFIX}auth"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}language"
THROTTLE = env_on("THROTTLE", "1")  # whether logins, registrations, posts and follows are rate limited
THROTTLES = {  # by the name of a limit: another number of times
    name[9:].lower(): env_within(name, 1, 1, 1_000_000) for name in os.environ if name.startswith("THROTTLE_")
}
TRUSTED_NETWORKS = env_networks("TRUSTED_NETWORKS")  # limits for each address do not count these
AUTHENTICATION_BACKENDS = ["accounts.signing_in.passwords.RedisBackend"]
PASSWORD_HASHERS = [
    "accounts.signing_in.passwords.LeanArgon2PasswordHasher",
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
REDIS_URL = env("REDIS_URL")  # empty: the embedded server
EMBEDDED = env_on("EMBEDDED")  # whether a public site may use the embedded server
REDIS_TOPOLOGY = env("REDIS_TOPOLOGY", "server")
REDIS_SENTINEL_SERVICE = env("REDIS_SENTINEL_SERVICE")
REDIS_SENTINEL_USERNAME = env("REDIS_SENTINEL_USERNAME")  # of the sentinels; REDIS_URL has that of the primary
REDIS_SENTINEL_PASSWORD = env("REDIS_SENTINEL_PASSWORD")
REDIS_NODES = env_list("REDIS_NODES")  # behind a proxy: the servers, for commands that SCAN
REDIS_KEY_PREFIX = env("REDIS_KEY_PREFIX")
# Seconds to connect, and for each reply. Shorter where another server can take over.
REDIS_TIMEOUT = 0.5 if REDIS_TOPOLOGY in {"sentinel", "cluster"} else 1.0
POST_IDS = env_one_of("POST_IDS", "incr", "snowflake")  # ids of posts and users: from counters, or from the time
NODE_ID = env_within("NODE_ID", 0, lowest=0, highest=31)  # this machine's part of each id that is made from the time
MOST_SHARDS = 16
TIMELINE_SHARDS = env_within("TIMELINE_SHARDS", 1, lowest=1, highest=MOST_SHARDS)  # lists: the global timeline
OUTBOX_SHARDS = env_within("OUTBOX_SHARDS", TIMELINE_SHARDS, lowest=1, highest=MOST_SHARDS)  # sorted sets: the outbox
DELIVER_INLINE_LIMIT = env_number("DELIVER_INLINE_LIMIT", 1000)  # followers; with more, `deliver` does it
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},  # Django needs one
    "store": {
        "BACKEND": "retwis_site.store.connection.topology.StoreConnections",
        "LOCATION": REDIS_URL or "embedded",
        "OPTIONS": {"CONNECTION_FACTORY": "retwis_site.store.connection.topology.ConnectionFactory"},
    },
}

# --- Logging ----------------------------------------------------------------------------------------------------------

LOG_FORMAT = env_one_of("LOG_FORMAT", "line", "json")
LOG_LEVEL = env_one_of("LOG_LEVEL", "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL")
SLOW_REQUEST_MS = env_number("SLOW_REQUEST_MS", 1000)  # milliseconds from which a request is logged as slow; 0: never
_LINES = "retwis_site.telemetry.log_lines"


def _at_least(lowest: str) -> str:
    return max(lowest, LOG_LEVEL, key=logging.getLevelNamesMapping().__getitem__)


def _lines_of(level: str, handler: str = "console") -> dict[str, Any]:
    return {"handlers": [handler], "level": level, "propagate": False}


_FORMATTERS: dict[str, dict[str, str]] = {
    "line": {
        "()": f"{_LINES}.BoundedLine",
        "format": "{asctime} {levelname} {name}{of_request}: {message}",
        "style": "{",
    },
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
    },
}
