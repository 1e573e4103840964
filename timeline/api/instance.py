"""What an app asks about the site, before anybody is signed in."""

from timeline.api.calls import Call, Endpoint


def nothing(call: Call) -> object:
    """What this site does not have. Apps ask for it, and an empty list is what they show as nothing."""
    return []


ENDPOINTS = (Endpoint("GET", "/api/v1/custom_emojis", nothing),)
