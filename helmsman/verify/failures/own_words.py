"""What the CLI itself says of a call, before any program spoke. Each pattern holds at the very start of the output."""

from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Rule, rule

DENIED = "denied"

OWN_WORDS: tuple[Rule, ...] = (
    rule(
        Class.OTHER,
        r"\A(?:PreToolUse:\w{1,40} hook (?:blocking )?error: *|PreToolUse hook )(?:\[[^\]\n]{0,300}\]: *)?(?P<said>.*)",
    ),
    rule(Class.OTHER, r"\A(?P<said>The user doesn't want to (?:proceed with|take) this (?:tool use|action))"),
    rule(Class.OTHER, r"\A(?P<said>\[Request interrupted by user[^\]\n]{0,40}\])"),
    rule(Class.PERMISSION, r"\A(?P<said>Permission to use \w{1,60}(?: with command)?.{0,200}? (?:has been|was) denied)"),
    rule(Class.PERMISSION, r"\A(?P<said>Claude requested permissions? to .{1,300}?, but you haven't granted it yet)"),
    rule(
        Class.PERMISSION,
        r"\A(?P<said>.{0,80}(?:is in a directory that is denied|was blocked\. For security|requires approval))",
    ),
    rule(Class.USAGE, r"\AInputValidationError: ?(?:\[\s*)?(?P<said>\w{1,60} failed due to the following issues?:(?:\n.*)?|.*)"),
    rule(Class.USAGE, r"\A(?:Error: )?No such tool available: (?P<name>\S{1,100})"),
    rule(Class.USAGE, r"\A(?P<said>EISDIR: .*|.{0,80}\bexceeds maximum allowed (?:tokens|size).{0,80})"),
    rule(
        Class.EDIT,
        r"\A(?:Error: )?(?P<said>String to replace not found in file|No changes to make|"
        r"Found \d+ matches of the string to replace)",
    ),
    rule(
        Class.EDIT,
        r"\A(?:Error: )?(?P<said>File has (?:not been read yet|been (?:unexpectedly )?modified since read|been modified))",
    ),
    rule(Class.EDIT, r"\A(?:Error: )?(?P<said>Cannot create new file - file already exists|File is a Jupyter Notebook)"),
    rule(Class.MISSING_FILE, r"\A(?P<said>File does not exist|Directory does not exist|Path does not exist)"),
    rule(Class.TIMEOUT, r"\A(?:Exit code \d+\n)?(?P<said>Command timed out after .*)"),
)
"""Edit, Write and Read name no line: the place of their failures is the file that they were called with."""

EXITS: dict[int, Class] = {
    126: Class.PERMISSION,
    127: Class.MISSING_COMMAND,
    132: Class.EXCEPTION,
    134: Class.EXCEPTION,
    136: Class.EXCEPTION,
    137: Class.RESOURCES,
    138: Class.EXCEPTION,
    139: Class.EXCEPTION,
    143: Class.TIMEOUT,
}
"""Exit codes that say by themselves what happened; from 129 on it was a signal."""
