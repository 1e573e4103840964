"""Users: names, hashes, and what a deletion removes."""

from accounts.users import accounts, adoption, checks, names
from retwis_site.features import Feature
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    jobs={"user": accounts.finish_user, "name": names.finish_name, "gone": accounts.finish_deletion},
    put_off={},
    searchers=(
        checks.AccountChecks,
        checks.NameIndexChecks,
        checks.SkeletonChecks,
        checks.DeletedAccountChecks,
        checks.UnknownUserChecks,
    ),
    adoption=lambda store: adoption.AccountAdoption(store).checks(),
    account_lines=accounts.account_lines,
    site_lines=(accounts.USERS, *(lines_of(keys.user.fields[name]) for name in ("colour", "needs_alt"))),
    remove_account=accounts.remove_user,
)
