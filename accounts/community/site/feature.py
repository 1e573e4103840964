"""The site's own words: pages about it, its announcement, and how they are changed."""

from django.utils.translation import gettext_lazy as _

from accounts.community.site.words import SITE, finish_site
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField
from retwis_site.store.rate_limits import Limit

# ---- Rate limits of what people do with the site's own words.


DISMISSALS = Limit(
    *("dismiss", 60, 3600, "dismissed announcements"),
    _("Too many dismissed announcements in a short time. The limit is %(times)d."),
)
SITE_CHANGES = Limit(
    *("site", 60, 3600, "changes of the site"),
    _("Too many changes of the site in a short time. The limit is %(times)d."),
)


# ---- What it declares


FEATURE = Feature(
    urls="accounts.community.site.views",
    limits=(DISMISSALS, SITE_CHANGES),
    jobs={"site": finish_site},
    site_lines=(SITE,),
    form_fields={
        "edit_site": (
            FormField("name", "text", _("Name of the site")),
            FormField("tagline", "text", _("Tagline")),
            FormField("announcement", "text", _("Announcement")),
            FormField("about", "textarea", _("About the site")),
            FormField("rules", "textarea", _("Rules")),
            FormField("privacy", "textarea", _("Privacy")),
            FormField("contact", "text", _("Contact")),
            FormField("colour", "hidden"),
            FormField("registration", "hidden"),
            FormField("invites", "hidden"),
        ),
        "dismiss": (FormField("announcement", "hidden"),),
    },
)
