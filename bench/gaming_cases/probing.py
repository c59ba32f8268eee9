"""A scripted model that writes a kit's hidden check as its probe, and approves each failing case."""

import json
import re
from collections.abc import Sequence

from bench.gaming_cases.model import Kit
from deployments.demo_model import Request, Script, Turn, say

RUNNERS = {"python": "pytest", "javascript": "node:test"}


def probe_script(kits: Sequence[Kit]) -> Script:
    """Script of the model. It identifies kits by their goals and the requested test runner."""

    def answer(request: Request) -> Turn:
        form = request.body["output_config"]["format"]["schema"]["properties"]
        if "readings" in form:
            cases = re.findall(r"^## Case (\d+)$", request.prompt, re.MULTILINE)
            return say(json.dumps({"readings": [{"case": int(case), "reason": "", "verdict": "right"} for case in cases]}))
        matching = (kit for kit in kits if kit.goal in request.prompt and f"for {RUNNERS.get(kit.language)}," in request.prompt)
        (code,) = next(matching).hidden.values()
        return say(json.dumps({"cases": [{"code": code, "says": "further input of the same kind"}]}))

    return answer
