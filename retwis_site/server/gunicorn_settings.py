"""gunicorn's settings: `gunicorn --config python:retwis_site.server.gunicorn_settings --bind ...` serves the site.

For sites behind a proxy that waits for slow clients (deploy/nginx.conf)."""

import os

from django.conf import settings

from retwis_site.environment import ending_in_one_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")

wsgi_app = "retwis_site.wsgi:application"
with ending_in_one_line():
    workers = settings.WEB_WORKERS
worker_class = "gthread"
# Each request of `Feature.slow_views` waits in a thread, so there are more threads than such requests.
threads = 96
limit_request_field_size = 32 * 1024  # the site refuses more than LONGEST_HEADER: it has such cookies deleted
umask = 0o007  # the proxy's group may connect to a unix socket, other users may not: they would choose an address
worker_tmp_dir = "/dev/shm"  # noqa: S108  for the sign of life of each worker: a slow disk must not delay it
control_socket_disable = True

# gunicorn's own lines have the form of the site's lines.
_loggers = settings.LOGGING["loggers"]
logconfig_dict = {**settings.LOGGING, "root": {}, "loggers": {**_loggers, "gunicorn.error": _loggers["retwis"]}}
