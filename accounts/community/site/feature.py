"""The site's own words: pages about it, its announcement, and how they are changed."""

from django.utils.translation import gettext_lazy as _

from accounts.community.site.limits import DISMISSALS, SITE_CHANGES
from accounts.community.site.site_lines import SITE
from accounts.community.site.words import finish_site
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.community.site.urls",
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
