"""The settings: profile, password, sessions, appearance, language, and deleting the account."""

from accounts.settings.views import EDITS, LOGGED_OUT, PASSWORD_FORMS, PasswordForm, SettingsForm
from accounts.signing_in.forms import PresentPasswordForm
from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import fields_of, hidden

FEATURE = Feature(
    urls="accounts.settings.views",
    slow_views={("POST", "password"): HASHING, ("POST", "delete_account"): HASHING},
    limits=(EDITS, PASSWORD_FORMS, LOGGED_OUT),
    uploads=("settings",),
    form_fields={
        "settings": fields_of(SettingsForm),
        "password": fields_of(PasswordForm),
        "delete_account": (*fields_of(PresentPasswordForm), *hidden("last_admin")),
    },
)
