"""The security headers of every answer, and the addresses of the site."""

from django.urls import get_resolver, reverse

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
POLICY = {
    "default-src 'none'",  # whatever is not named here, plugins among them
    "script-src 'self'",
    "connect-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


def addresses():
    """Every address of the site by its name."""
    sample = {"username": "Alice", "pid": 1, "section": "people"}
    found, patterns = {}, list(get_resolver().url_patterns)
    while patterns:
        pattern = patterns.pop()
        if hasattr(pattern, "url_patterns"):
            patterns += pattern.url_patterns
            continue
        named = {name: sample[name] for name in pattern.pattern.converters}
        found[pattern.name] = reverse(pattern.name, kwargs=named)
    return found
