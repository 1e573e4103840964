"""What a management command prints."""

from django.core.management import call_command


def said(capsys, *command, **options):
    """What a command prints; nothing but a log may go to stderr."""
    capsys.readouterr()
    call_command(*command, **options)
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out
