"""WhiteNoise looks for static files once in a process. Else it would do so for each test client: the tests make
thousands, and none of them adds a static file."""

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware

SETTINGS = ("DEBUG", "STATIC_URL", "STATIC_ROOT", "STATICFILES_DIRS", "STORAGES", "FORCE_SCRIPT_NAME")


def look_once() -> None:
    look, found = WhiteNoiseMiddleware.__init__, {}

    def look_or_remember(self, get_response=None, settings=settings):
        key = str([getattr(settings, name) for name in SETTINGS])
        if key not in found:
            look(self, get_response, settings)
            found[key] = dict(vars(self))
        vars(self).update(found[key], get_response=get_response)

    WhiteNoiseMiddleware.__init__ = look_or_remember
