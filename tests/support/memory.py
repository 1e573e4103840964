"""What a cache of the process has."""


def everything(memory):
    """All valid entries."""
    return memory.some([*memory._entries])
