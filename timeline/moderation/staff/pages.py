"""How the pages of staff are made."""

from typing import Any

from django.http import HttpResponse

from accounts.signing_in.html.pages import form_page
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import Role


def staff_page(request: RetwisRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """A page with the links to all pages of staff that this viewer may open."""
    is_admin = request.viewer.role is Role.ADMIN
    return form_page(request, f"timeline/moderation/staff/{template}", {**context, "is_admin": is_admin}, status)
