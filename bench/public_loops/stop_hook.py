"""The widespread Stop hook: block the end of a session until its last message promises completion."""

import json
import sys

if "<promise>COMPLETE</promise>" not in json.load(sys.stdin).get("last_assistant_message", ""):
    print(json.dumps({"decision": "block", "reason": "Go on until all is done, then say <promise>COMPLETE</promise>."}))
