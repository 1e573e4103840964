"""Pictures that people upload: decoded and made small, stored in Redis, served, and removed when nothing shows them."""

from accounts.media.profiles import LINES, USES, ProfilePictureChecks
from accounts.media.repository import UPLOAD_STAYS, UPLOADS
from accounts.media.upkeep import FILES, PICTURES, PictureChecks, account_lines, advice, finish_picture, remove_pictures
from retwis_site.features import Feature
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    urls="accounts.media.views",
    jobs={"picture": finish_picture},
    put_off={"picture": UPLOAD_STAYS},
    limits=(UPLOADS,),
    remove_account=remove_pictures,
    account_lines=account_lines,
    site_lines=(FILES, PICTURES, lines_of(keys.blocked_media), *LINES),
    picture_uses=USES,
    searchers=(ProfilePictureChecks, PictureChecks),
    advice=advice,
)
