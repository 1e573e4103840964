"""What a management command prints, and that it refuses; what checks find, and the report of `doctor --json`."""

import json

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.checks import keys_of
from retwis_site.store.connection import topology


def said(capsys, *command, **options):
    """What a command prints on stdout. On stderr it names the store, and prints nothing else."""
    capsys.readouterr()
    call_command(*command, **options)
    printed = capsys.readouterr()
    assert printed.err == ("" if options.get("verbosity") == 0 else f"Store: {topology.described()}\n")
    return printed.out


def refuses(says, *command, **options):
    """The command ends with an error that says this: `says` is a pattern."""
    with pytest.raises(CommandError, match=says):
        call_command(*command, **options)


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


# The labels of checks.
NAMES = "names that lead to no user or to another user"
SECRETS = "secrets that auths lacks"
LOST = "posts missing from their author's updates:"
OVERDUE = "overdue jobs"
VALUES = "values that are no id, number or text"
COUNTERS = "counters below the largest id"


def report_of(capsys, *options):
    """Run `doctor`. Returns the exit code and the report."""
    capsys.readouterr()
    code = 0
    try:
        call_command("doctor", "--json", *options)
    except SystemExit as exit:
        code = exit.code
    return code, json.loads(capsys.readouterr().out)


def complaints(capsys, *options):
    """What `doctor` prints about a store with errors."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", *options)
    assert ended.value.code == 1
    return capsys.readouterr().out


def doctor(capsys, *options):
    """Run `doctor`. Returns the exit code, the errors and the orphans: label -> number of findings."""
    code, report = report_of(capsys, *options)
    assert report["ok"] == (code == 0)
    assert [one["stopped"] for one in report["errors"] if one["stopped"]] == []
    errors, orphans = [{one["check"]: one["found"] for one in report[part]} for part in ("errors", "debris")]
    return code, errors, orphans


def doctor_findings(capsys, *options):
    """What `doctor` finds, as two dicts from a check's label to a number: inconsistencies and orphans."""
    return doctor(capsys, *options)[1:]


def mends_all(capsys):
    """`doctor --fix` succeeds, and the next `doctor` finds nothing."""
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})


def finds_and_mends(capsys, errors):
    """`doctor` finds these errors, label -> number of findings, and mends all of them."""
    assert doctor(capsys)[1] == errors
    mends_all(capsys)
