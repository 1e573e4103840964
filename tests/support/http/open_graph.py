"""What a page tells other sites."""

import re
from html import unescape

META = re.compile(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">')
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')


def told(page):
    """What stands in a page's head for others, by its name."""
    return {name: unescape(content) for name, content in META.findall(page)}
