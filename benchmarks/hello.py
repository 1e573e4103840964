"""An empty Django view that all pages are compared with: no middleware, no template, no store."""

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path


def empty(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def application() -> WSGIHandler:
    settings.configure(ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[], ROOT_URLCONF=__name__, SECRET_KEY="none is needed")  # noqa: S106
    return get_wsgi_application()


urlpatterns = [path("", empty)]
