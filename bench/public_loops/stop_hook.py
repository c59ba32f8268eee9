"""The widespread Stop hook: the session may not end before its last words promise that it is done."""

import json
import sys

if "<promise>COMPLETE</promise>" not in json.load(sys.stdin).get("last_assistant_message", ""):
    print(json.dumps({"decision": "block", "reason": "Go on until all is done, then say <promise>COMPLETE</promise>."}))
