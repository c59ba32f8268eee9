"""What the agent asks for. A request to be done is read here; whether it is granted is decided by the checks."""

import re

from helmsman.records.evidence import Claims

_CODE_FENCE = re.compile(r"^ {0,3}(`{3,}+(?![^\n]*`)|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^`\n]*\1(?!`)")
_EXIT_SIGNAL = re.compile(
    r"(?:^[ \t\"'*>-]*|[{,]\s*\")EXIT_SIGNAL[\"'*]*\s*[:=]\s*[\"'*]*true\b",
    re.MULTILINE | re.IGNORECASE,
)
_DECORATION = "`*_ \t"


def read_claims(final_text: str, promise: str) -> Claims:
    """Find a request to be done in the last message. Quoted code does not ask, unless all of the message is quoted.

    A promise that fills a line asks, however it is decorated. EXIT_SIGNAL asks in a block or in JSON, fenced or not.
    """
    if _EXIT_SIGNAL.search(final_text):
        return Claims(wants_to_finish=True, how="EXIT_SIGNAL")
    unfenced = _CODE_FENCE.sub("", final_text)
    spoken = unfenced if unfenced.strip() else final_text
    alone = any(line.strip(_DECORATION) == promise for line in spoken.splitlines())
    if alone or promise in _CODE_SPAN.sub("", spoken):
        return Claims(wants_to_finish=True, how=promise)
    return Claims()
