"""Sets Django up for `python -m benchmarks.<question>`. Modules that read settings are imported after it."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "retwis_site.settings")
os.environ.setdefault("SECRET_KEY", "a secret for a benchmark on loopback")
django.setup()
