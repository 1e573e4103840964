"""The text of a page without its tags."""

import re

TAG = re.compile(r"<[^>]+>")


def text_of(response):
    return " ".join(TAG.sub("", response.content.decode()).split())
