"""Whole addresses of this site, as commands print them."""

from django.conf import settings
from django.urls import reverse


def address_of(view: str, *arguments: object) -> str:
    """The address of a view, such as `https://retwis.example/invited/0-1/`: it begins with SITE_ADDRESS."""
    return f"{settings.SITE_ADDRESS}{reverse(view, args=arguments)}"
