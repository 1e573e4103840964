"""Every setting of the site, read from the environment. README.md lists the ones an operator may set."""

import os
import secrets
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

PACKAGE = Path(__file__).resolve().parent
IN_CHECKOUT = (PACKAGE.parent / "manage.py").is_file()
BASE_DIR = PACKAGE.parent if IN_CHECKOUT else Path.cwd()  # var/ is there
FILES_DIR = PACKAGE.parent if IN_CHECKOUT else PACKAGE  # templates/ and locale/ are there; the wheel has them here


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


def kept_secret(path: Path) -> str:
    """The secret in `path`, made on first use. Two processes that start together agree on one."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    fresh.touch(mode=0o600)
    fresh.write_text(secrets.token_urlsafe(48))
    try:
        os.link(fresh, path)  # link, not rename: the first one stays
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text().strip()


# --- The site ---------------------------------------------------------------------------------------------------------

VAR_DIR = Path(env("VAR_DIR") or BASE_DIR / "var").resolve()  # what the site itself writes: secret, store, static files
DEBUG = env_on("DEBUG")
HTTPS = env_on("HTTPS")
SECRET_KEY = env("SECRET_KEY") or kept_secret(VAR_DIR / "secret_key")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
PORT = env_number("PORT", 8000)
WEB_WORKERS = max(1, env_number("WEB_WORKERS", 2))
TRUSTED_PROXIES = env_number("TRUSTED_PROXIES", 0)  # how many reverse proxies stand before the site

DEMO_USER = "demo"  # whom `seed` makes, and `serve` tells of
DEMO_PASSWORD = "retwis-demo"  # noqa: S105  for everybody to try

INSTALLED_APPS = [
    "retwis_site",
    "accounts",
    "timeline",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "django.contrib.staticfiles",
]
# The features, in this order: each builds on those before it. A feature is a folder with a `feature.py`.
FEATURES = [
    "accounts.users",
    "accounts.signing_in",
    "accounts.settings",
    "timeline.relations",
    "timeline.posts",
    "timeline.people",
    "timeline.timelines",
    "timeline.feeds",
    "timeline.account_data",
    "timeline.demo",
]
MIDDLEWARE = [
    "retwis_site.http.security_headers.BrowserHeaders",
    *(["django.middleware.security.SecurityMiddleware"] if HTTPS else []),  # the rest of it is in BrowserHeaders
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "retwis_site.http.language.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.signing_in.middleware.ViewerMiddleware",
    "retwis_site.http.flash_messages.FlashMiddleware",
    "retwis_site.rendering.error_pages.ErrorPages",
]
# X-Frame-Options: BrowserHeaders says it, on every answer. Without HTTPS what helps is HTTPS=1, as retwis.W005 says.
SILENCED_SYSTEM_CHECKS = ["security.W002", *([] if HTTPS else ["security.W001"])]
ROOT_URLCONF = "retwis_site.urls"
WSGI_APPLICATION = "retwis_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {  # what templates `{% load %}`
                "people": "accounts.users.template_tags",
                "posts": "timeline.posts.html.template_tags",
            },
        },
    }
]
CSRF_FAILURE_VIEW = "retwis_site.rendering.error_pages.csrf_failure"
MESSAGE_STORAGE = "retwis_site.http.flash_messages.FlashStorage"  # the default would want a sessions table
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes of a request's body; more is a 413

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]  # each in its own words
LOCALE_PATHS = [FILES_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {"staticfiles": {"BACKEND": "retwis_site.http.static_files.HashedStaticFiles"}}
WHITENOISE_MIMETYPES = {".svg": "image/svg+xml; charset=utf-8"}
WHITENOISE_ROOT = PACKAGE / "root"  # pictures that browsers ask for by a name of their own
WHITENOISE_USE_FINDERS = True  # before the first `collectstatic` the files are served from where they lie

# --- Who you are ------------------------------------------------------------------------------------------------------

COOKIE_PREFIX = "__Host-" if HTTPS else ""  # browsers take such a cookie from this very host over HTTPS alone
AUTH_COOKIE = f"{COOKIE_PREFIX}auth"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}language"
THROTTLE = env_on("THROTTLE", "1")  # whether logins, registrations, posts and follows are limited
AUTHENTICATION_BACKENDS = ["accounts.signing_in.backend.RedisBackend"]
PASSWORD_HASHERS = ["accounts.signing_in.hashers.LeanArgon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator")
]

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_AGE = 365 * 24 * 3600  # seconds, as a login's
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$"]  # asked by health checkers that speak plain HTTP
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- The store --------------------------------------------------------------------------------------------------------

DATABASES: dict[str, dict[str, str]] = {}  # Redis is the only datastore
REDIS_URL = env("REDIS_URL")  # empty: the embedded server
REDIS_TOPOLOGY = env("REDIS_TOPOLOGY", "server")
REDIS_SENTINEL_SERVICE = env("REDIS_SENTINEL_SERVICE")
REDIS_SENTINEL_USERNAME = env("REDIS_SENTINEL_USERNAME")  # of the sentinels themselves; the primary's are in REDIS_URL
REDIS_SENTINEL_PASSWORD = env("REDIS_SENTINEL_PASSWORD")
REDIS_NODES = env_list("REDIS_NODES")  # behind a proxy: the servers that the commands which scan ask
REDIS_KEY_PREFIX = env("REDIS_KEY_PREFIX")
# Seconds to connect, and for each reply; where another server may take over, there is less to wait for.
REDIS_TIMEOUT = 0.5 if REDIS_TOPOLOGY in {"sentinel", "cluster"} else 1.0
POST_IDS = env_one_of("POST_IDS", "incr", "snowflake")  # of posts and users: from counters, or from time
NODE_ID = env_within("NODE_ID", 0, lowest=0, highest=31)  # this machine's part of each id that is made from time
MOST_SHARDS = 16
TIMELINE_SHARDS = env_within("TIMELINE_SHARDS", 1, lowest=1, highest=MOST_SHARDS)  # lists: the global timeline
OUTBOX_SHARDS = env_within("OUTBOX_SHARDS", TIMELINE_SHARDS, lowest=1, highest=MOST_SHARDS)  # sorted sets: the outbox
# Whether a process remembers parts of pages that it has rendered; whoever changes templates wants to see it.
PAGE_MEMORY = env_on("PAGE_MEMORY", "0" if DEBUG else "1")
DELIVER_INLINE_LIMIT = env_number("DELIVER_INLINE_LIMIT", 1000)  # followers; a post for more is left to `deliver`
CACHES: dict[str, dict[str, Any]] = {
    # Nothing here uses Django's cache; Django wants a default.
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "store": {
        "BACKEND": "retwis_site.store.client.StoreConnections",
        "LOCATION": REDIS_URL or "embedded",
        "OPTIONS": {"CONNECTION_FACTORY": "retwis_site.store.client.ConnectionFactory"},
    },
}

# --- What is written down ---------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "not_503": {"()": "retwis_site.rendering.error_pages.NotStoreFailures"},
        "without_traceback": {"()": "retwis_site.rendering.error_pages.WithoutTraceback"},
    },
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line"},
        "security": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["without_traceback"]},
    },
    "loggers": {
        "django": {"handlers": ["console"], "level": "INFO", "propagate": False},
        "django.request": {
            "handlers": ["console"],
            "level": "ERROR",
            "filters": ["not_503"],
            "propagate": False,
        },
        "django.security": {
            "handlers": ["security"],
            "level": "WARNING",
            "propagate": False,
        },
        "retwis": {"handlers": ["console"], "level": "INFO", "propagate": False},
    },
}
