"""What checks find, each by itself."""

from retwis_site.maintenance.checks import keys_of


def findings_of(store, checks, label=None):
    """The findings of the checks, or of the one with this label."""
    return [
        finding
        for check in checks
        if label in {None, check.label}
        for chunk in chunks_of(store, check)
        for finding in chunk
    ]


def chunks_of(store, check):
    for _, names in keys_of(store, check.of):
        yield from check.find(names)
    yield from check.at_end()
