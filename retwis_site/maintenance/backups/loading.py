"""The data of a backup as a store: temporary servers load its RDB files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from retwis_site.maintenance.site_copy import Copy, connect_source
from retwis_site.store.client import Store
from retwis_site.store.server.temporary import empty_server, servers_on


@contextmanager
def loaded(files: Sequence[Path], database: int) -> Iterator[Store]:
    """A store of a server for each file, to be copied from. Raises EmbeddedServerError for a file that the server
    program cannot load."""
    with servers_on(files, database) as addresses:
        yield connect_source(addresses)


@contextmanager
def loaded_in_one_server(files: Sequence[Path], database: int) -> Iterator[Store]:
    """Like `loaded`, but one server has all keys, so each command finds its key. Of several files, the lists are not in
    it: they are caches. Raises CannotFill too."""
    with loaded(files, database) as source:
        if len(files) == 1:
            yield source
            return
        with empty_server() as address:
            target = connect_source([address])
            copy = Copy(source, target)
            copy.begin()
            for _ in copy:
                continue
            copy.finish()
            yield target
