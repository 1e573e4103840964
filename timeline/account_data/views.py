"""The page that sends the personal download."""

from typing import IO

from django.http import FileResponse
from django.urls import path, reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import gives_file, sudo_required
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.exceptions import NoRoom
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect
from timeline.account_data.download import CONTENT_TYPE, export, file_name
from timeline.account_data.feature import DOWNLOADS


@gives_file
@require_safe
@sudo_required
def download(request: RetwisRequest, me: User) -> FileResponse:
    """All data of the viewer, as a file. The file is complete before it is sent, so a store failure or a full
    disk gives an error page. What a full disk refuses does not count. HEAD only gives the headers."""
    file: IO[bytes] | tuple[()] = ()
    if request.method != "HEAD":
        DOWNLOADS.count(connect(), me.uid)
        origin = origin_of(request)
        try:
            file = export(connect(), me, lambda view, *args: f"{origin}{reverse(view, args=args)}")
        except NoRoom:
            DOWNLOADS.forget(connect(), me.uid)
            raise
    return FileResponse(
        file,
        content_type=CONTENT_TYPE,
        headers={
            "Content-Disposition": content_disposition_header(as_attachment=True, filename=file_name(me)) or "",
            "Cache-Control": "private, no-store",
        },
    )


# ---- Addresses


urlpatterns = [path("settings/download/", download, name="download")]
