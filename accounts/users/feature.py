"""Users: names, hashes, and what a deletion removes."""

from accounts.users import checks
from accounts.users.adoption import AccountAdoption
from accounts.users.deletion import finish_deletion, remove_user
from accounts.users.names import finish_name
from accounts.users.registration import finish_user
from accounts.users.site_lines import USERS, account_lines
from retwis_site.features import Feature
from retwis_site.maintenance.checks import Check
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys
from retwis_site.store.client import Store


def _inconsistencies(store: Store) -> list[Check]:
    some = (checks.AccountChecks, checks.NameIndexChecks, checks.SkeletonChecks, checks.DeletedAccountChecks)
    return [*(check for each in some for check in each(store).inconsistencies()), *checks.sets_of_unknown_users(store)]


def _orphans(store: Store) -> list[Check]:
    some = (checks.AccountOrphans, checks.NameIndexChecks, checks.SkeletonChecks)
    return [*(check for each in some for check in each(store).orphans()), *checks.left_by_users(store)]


FEATURE = Feature(
    jobs={"user": finish_user, "name": finish_name, "gone": finish_deletion},
    inconsistencies=_inconsistencies,
    orphans=_orphans,
    adoption=lambda store: AccountAdoption(store).checks(),
    account_lines=account_lines,
    site_lines=(USERS, *(lines_of(keys.user.fields[name]) for name in ("colour", "needs_alt"))),
    remove_account=remove_user,
)
