"""Facts and links on a profile, and whether the pages behind the links link back."""

from accounts.facts.facts import account_lines, check_links
from retwis_site.features import Feature
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys

FEATURE = Feature(
    jobs={"links": check_links},
    put_off={},
    account_lines=account_lines,
    site_lines=(lines_of(keys.user.fields["facts"]), lines_of(keys.user.fields["verified_links"])),
)
