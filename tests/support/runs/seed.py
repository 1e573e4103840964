"""The seed of all that chance decides in a run: the order of commands, and the sample of the faults. The same seed
decides the same."""

import os

SEED = os.environ.get("SEED") or "1"
