"""The security headers of every answer: what a browser may load and do on a page of the site.

The site's middleware sets them on what any part of it answers, so static files and redirects to HTTPS have them too.
"""

from django.conf import settings
from django.http.response import ResponseHeaders

# No frames, nothing inline, nothing from other sites. Forms and scripts send requests to this site only.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


# Of a page whose form leads to an app, and of the redirect to it. Chromium asks `form-action` for each redirect that
# follows, and only the app knows where its address leads on to: to its own pages at another host, or to the program on
# a phone. Apps that have opened a window for the consent wait for what is said there, and until it is closed: so the
# pages on the way there keep the opener (`guards.keeps_opener`), but for those that come before a view.
OPENER = "Cross-Origin-Opener-Policy"
KEPT = "unsafe-none"
OF_CONSENT = {"Content-Security-Policy": POLICY.replace("form-action 'self'; ", ""), OPENER: KEPT}

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    OPENER: "same-origin",
}


def headers_of_every_answer() -> ResponseHeaders:
    """With DEBUG there is no policy, since Django's debug pages have inline styles and scripts."""
    left_out = {"Content-Security-Policy"} if settings.DEBUG else set()
    return ResponseHeaders({name: value for name, value in HEADERS.items() if name not in left_out})
