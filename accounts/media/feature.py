"""Pictures that people upload: decoded and made small, stored in Redis, served, and removed when nothing shows them."""

from accounts.media import profiles, repository, upkeep
from retwis_site.features import Feature
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    urls="accounts.media.views",
    jobs={"picture": upkeep.finish_picture},
    put_off={"picture": repository.UPLOAD_STAYS},
    limits=(repository.UPLOADS,),
    remove_account=upkeep.remove_pictures,
    account_lines=upkeep.account_lines,
    site_lines=(upkeep.FILES, upkeep.PICTURES, lines_of(keys.blocked_media), *profiles.LINES),
    picture_uses=profiles.USES,
    searchers=(profiles.ProfilePictureChecks, upkeep.PictureChecks),
    advice=upkeep.advice,
)
