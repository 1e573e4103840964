"""The password hash: Argon2id with the first setting that OWASP recommends."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """19 MiB for each hash. With Django's default of 100 MiB, a few logins at once fill the memory of a small server.

    Source: OWASP Password Storage Cheat Sheet (m=19456 KiB, t=2, p=1).
    """

    time_cost = 2
    memory_cost = 19456  # KiB
    parallelism = 1
