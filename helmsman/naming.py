"""Names made from what people wrote."""

import re
import unicodedata

LONGEST_SLUG = 32
PLAIN_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Safe as part of a ref, a file, a key in Prefect and a line that a shell reads."""
LOOP_ID = PLAIN_NAME


def loop_id(goal: str, suffix: str) -> str:
    """A short id that reads like the goal: its first words, and a suffix that makes it unique."""
    plain = unicodedata.normalize("NFKD", goal).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word[:LONGEST_SLUG]
        if len(longer) > LONGEST_SLUG:
            break
        slug = longer
    return f"{slug or 'loop'}-{suffix}"
