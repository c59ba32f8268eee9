"""What the agent asks for. A request to be done is read here; whether it is granted is decided by the checks."""

import re

from helmsman.records.evidence import Claims

_CODE_FENCE = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_EXIT_SIGNAL = re.compile(r"^[\s\"'*-]*EXIT_SIGNAL[\"'*]*\s*[:=]\s*[\"'*]*true\b", re.MULTILINE | re.IGNORECASE)


def read_claims(final_text: str, promise: str) -> Claims:
    """Find a request to be done in the last message. Quoted code does not ask, unless all of the message is quoted."""
    if _EXIT_SIGNAL.search(final_text):
        return Claims(wants_to_finish=True, how="EXIT_SIGNAL")
    spoken = _CODE_SPAN.sub("", _CODE_FENCE.sub("", final_text))
    alone = any(line.strip("`*_ \t") == promise for line in final_text.splitlines())
    if promise in spoken or alone:
        return Claims(wants_to_finish=True, how=promise)
    return Claims()
