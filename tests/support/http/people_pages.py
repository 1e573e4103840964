"""The people whom a page lists."""

import html
import re
from urllib.parse import unquote

ROW = re.compile(r'<a class="name" href="/@([^"]+)/"')


def names(page):
    return [html.unescape(unquote(name)) for name in ROW.findall(page.content.decode())]
