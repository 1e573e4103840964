"""The WSGI application, for any WSGI server: `retwis_site.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")

application = get_wsgi_application()
