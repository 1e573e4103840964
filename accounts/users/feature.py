"""Users: names, hashes, and what a deletion removes."""

from accounts.users import checks
from accounts.users.accounts import USERS, account_lines, finish_deletion, finish_user, remove_user
from accounts.users.adoption import AccountAdoption
from accounts.users.names import finish_name
from retwis_site.features import Feature
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    jobs={"user": finish_user, "name": finish_name, "gone": finish_deletion},
    put_off={},
    searchers=(
        checks.AccountChecks,
        checks.NameIndexChecks,
        checks.SkeletonChecks,
        checks.DeletedAccountChecks,
        checks.UnknownUserChecks,
    ),
    adoption=lambda store: AccountAdoption(store).checks(),
    account_lines=account_lines,
    site_lines=(USERS, *(lines_of(keys.user.fields[name]) for name in ("colour", "needs_alt"))),
    remove_account=remove_user,
)
