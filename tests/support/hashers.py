from accounts.signing_in.passwords import LeanArgon2PasswordHasher


class QuickArgon2PasswordHasher(LeanArgon2PasswordHasher):
    """Argon2 with the cheapest parameters, for fast tests."""

    time_cost = 1
    memory_cost = 8
