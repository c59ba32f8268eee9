"""A scripted model that writes the hidden check of a kit as its probe, and approves each failing probe."""

import json
import re
from collections.abc import Sequence

from bench.gaming_cases.model import Kit
from deployments.demo_model import Request, Script, Turn, say

RUNNERS = {"python": "pytest", "javascript": "node:test"}


def probing(kits: Sequence[Kit]) -> Script:
    """Script of the model. Kits are identified by their goals and the requested runner."""

    def answer(request: Request) -> Turn:
        form = request.body["output_config"]["format"]["schema"]["properties"]
        if "readings" in form:
            cases = re.findall(r"^## Case (\d+)$", request.prompt, re.MULTILINE)
            return say(json.dumps({"readings": [{"case": int(case), "reason": "", "verdict": "right"} for case in cases]}))
        asked = (kit for kit in kits if kit.goal in request.prompt and f"for {RUNNERS.get(kit.language)}," in request.prompt)
        (code,) = next(asked).hidden.values()
        return say(json.dumps({"cases": [{"code": code, "says": "further input of the same kind"}]}))

    return answer
