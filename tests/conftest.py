"""What holds for every test."""

import os

from hypothesis import settings

OPERATORS_OWN = ("HELMSMAN_", "PREFECT_", "ANTHROPIC_", "CLAUDE")
KEPT = {"HELMSMAN_TAG"}  # by it, whoever started these tests finds what they leave behind

# A test says for itself what it wants. An operator's settings would change what it sees, and credentials might be spent.
for name in [name for name in os.environ if name.startswith(OPERATORS_OWN) and name not in KEPT]:
    del os.environ[name]

settings.register_profile("steady", deadline=None)  # on a shared machine, the time of one example measures the neighbours
settings.load_profile("steady")
