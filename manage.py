#!/usr/bin/env python
"""Django's command line for Retwis: `manage.py help` lists the commands."""

from retwis_site.command_line import main

if __name__ == "__main__":
    main()
