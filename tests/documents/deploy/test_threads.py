"""Under gunicorn and uWSGI, requests wait in threads: there are more threads than places in the queues."""

import re

from django.conf import settings

from retwis_site.features import features
from retwis_site.server import gunicorn_settings


def test_pages_find_a_thread_while_every_queue_is_full():
    queues = {id(queue): queue for feature in features() for queue in feature.slow_views.values()}
    places = sum(queue.at_once + queue.waiting for queue in queues.values())
    assert 0 < places < gunicorn_settings.threads


def test_uwsgi_has_as_many_threads():
    uwsgi = (settings.BASE_DIR / "deploy/uwsgi.ini").read_text()
    assert re.findall(r"^threads = (\d+)$", uwsgi, re.MULTILINE) == [str(gunicorn_settings.threads)]
