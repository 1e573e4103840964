"""The security headers of every answer, and the addresses of the site."""

from django.urls import get_resolver, reverse

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
POLICY = {
    "default-src 'none'",  # all kinds that are not named here, such as plugins
    "script-src 'self'",
    "connect-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


def addresses(**others):
    """Every address of the site, by the name of its view. `others`: what stands in them instead of what is here."""
    sample = {"username": "Alice", "pid": 1, "section": "people", "tag": "redis", "token": "t", "code": "t", "rid": 1}
    sample |= {"name": "keys-and-hashes", "key": "user:1"}  # a chapter, a key
    sample |= {"rest": "v1/instance", "number": 1}  # what an app asks
    sample |= {"file": "0" * 40, "digest": "f" * 40, "at": 1}  # a picture; when staff has blocked one
    sample |= others
    return {
        pattern.name: reverse(pattern.name, kwargs={name: sample[name] for name in pattern.pattern.converters})
        for pattern in get_resolver().url_patterns
        if not pattern.name.endswith("_slash")  # the same view once more
    }
