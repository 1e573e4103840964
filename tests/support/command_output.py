"""What a management command prints, and that it refuses."""

import pytest
from django.core.management import CommandError, call_command

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
