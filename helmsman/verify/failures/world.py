"""What git, the network, the file system, the shell and programs themselves refuse."""

from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Rule, rule

_HOST = r"(?:https?://)?\[?(?P<at>[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})\]?"

PERMISSION: tuple[Rule, ...] = (
    rule(Class.PERMISSION, r"^(?P<said>.{0,100}Permission denied \(publickey.*)"),
    rule(
        Class.PERMISSION,
        r"^(?P<said>(?:fatal|remote): (?:Authentication failed|could not read (?:Username|Password)|"
        r"Permission to|Invalid username).*)",
    ),
    rule(Class.PERMISSION, r"^(?P<said>sudo: (?:a (?:password|terminal) is required|.{0,80}not in the sudoers).*)"),
    rule(Class.PERMISSION, r"^(?P<said>npm (?:ERR!|error) code (?:EACCES|EPERM|E401|E403))"),
    rule(Class.PERMISSION, r"^(?P<said>.{0,40}permission denied while trying to connect to the [Dd]ocker .*)"),
)

GIT: tuple[Rule, ...] = (
    rule(Class.GIT, r"^(?P<said>CONFLICT \([^)\n]{1,40}\): .*?(?: in (?P<at>\S{1,200}))?)$"),
    rule(Class.GIT, r"^(?P<said>(?:fatal|error): (?:pathspec|path) '(?P<name>[^'\n]{1,200})' .*)"),
    rule(
        Class.GIT,
        r"^(?P<said>fatal: (?:not a git repository|bad revision|bad object|invalid reference|refusing to merge|"
        r"ambiguous argument|Not possible to fast-forward).*)",
    ),
    rule(
        Class.GIT,
        r"^(?P<said>fatal: (?:a branch named|Unable to create '.{0,200}index\.lock'|unable to auto-detect email|"
        r"empty ident name|'.{1,120}' is already (?:checked out|used)|Need to specify|You are not currently).*)",
    ),
    rule(Class.GIT, r"^(?P<said>.{0,3}\[(?:rejected|remote rejected)\] .*)"),
    rule(
        Class.GIT,
        r"^(?P<said>error: (?:Your local changes|The following untracked|failed to push|patch failed|patch does not apply|"
        r"could not apply|cannot (?:pull|rebase)|src refspec|Merging is not possible|you need to resolve|"
        r"No such remote).*)",
    ),
    rule(Class.GIT, r"^(?P<said>error: (?P<at>[^\s:]{1,200}): patch does not apply)"),
    rule(Class.GIT, r"^(?P<said>(?:Automatic merge failed|No stash entries|No local changes to save).*)"),
    rule(Class.NETWORK, r"^(?P<said>fatal: unable to (?:access|connect to) .*)", "git"),
    rule(
        Class.USAGE,
        r"^(?P<said>git: '(?P<name>[^'\n]{1,60})' is not a git command.*|error: unknown (?:option|switch) .*|"
        r"fatal: unrecognized argument: .*)",
        "git",
    ),
    rule(Class.GIT, r"^(?P<said>(?:fatal|error|hint): .*)", "git"),
)

NOTHING_TO_COMMIT: tuple[Rule, ...] = (
    rule(Class.GIT, r"^(?P<said>(?:nothing to commit|nothing added to commit|no changes added to commit).*)", "git"),
    rule(Class.GIT, r"^(?P<said>Changes not staged for commit:)", "git"),
)
"""A status says this too, so that any other cause comes first."""

NETWORK: tuple[Rule, ...] = (
    rule(
        Class.NETWORK,
        rf"^curl: \(\d+\) (?P<said>(?:Could not resolve host:|Failed to connect to|"
        rf"Couldn't connect to server on) {_HOST}.*)",
    ),
    rule(Class.NETWORK, r"^curl: \((?!2\b|3\b|23\b|26\b|37\b)\d+\) (?P<said>.*)"),
    rule(Class.NETWORK, rf"^wget: (?P<said>unable to resolve host address ['\"‘]{_HOST}.*)"),  # noqa: RUF001 - as GNU quotes
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>getaddrinfo (?:ENOTFOUND|EAI_AGAIN) {_HOST}.*)"),
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>connect (?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH) {_HOST}(?::\d+)?)"),
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>dial tcp:? (?:lookup )?{_HOST}.*)"),
    rule(Class.NETWORK, rf"^ssh: (?P<said>(?:connect to host|Could not resolve hostname) {_HOST}.*)"),
    rule(Class.NETWORK, rf"^.{{0,80}}(?P<said>connection to server at \"{_HOST}\".*)"),
    rule(Class.NETWORK, r"^.{0,80}(?P<said>Cannot connect to the Docker daemon at \S{1,200}).*"),
    rule(
        Class.NETWORK,
        r"^.{0,60}(?P<said>[Ee]rror(?: response from daemon|: Cannot connect| during connect): .*(?:docker|daemon|"
        r"registry).*)",
        "docker podman docker-compose",
    ),
    rule(
        Class.NETWORK,
        rf"^(?P<said>(?:\w+\.){{0,8}}\w*(?:ConnectionError|ConnectTimeout|ReadTimeout|SSLError|MaxRetryError|URLError|"
        rf"ConnectError|ConnectionRefusedError|ConnectionResetError|gaierror|ClientConnectorError|"
        rf"OperationalError: .{{0,200}}(?:onnection refused|could not connect))\b(?:.{{0,80}}host='?{_HOST})?.*)",
    ),
    rule(
        Class.NETWORK,
        r"^(?P<said>.{0,200}(?:Connection refused|Temporary failure in name resolution|Name or service not known|"
        r"Network is unreachable|No route to host|Could not resolve host|CERTIFICATE_VERIFY_FAILED|EADDRINUSE|"
        r"[Aa]ddress already in use))",
    ),
)

TIMEOUT: tuple[Rule, ...] = (
    rule(Class.TIMEOUT, r"^(?P<said>(?:\w+\.){0,8}(?:TimeoutExpired|TimeoutError|CancelledError)\b.*)"),
    rule(
        Class.TIMEOUT,
        r"^(?P<said>(?:.{0,100}: )?(?:command|operation|test|job) timed out.{0,100}|.{0,100}context deadline exceeded)",
    ),
)

COMMAND: tuple[Rule, ...] = (
    rule(Class.MISSING_COMMAND, r"^(?:\S{1,100}: )?(?:line \d+: |\d+: )?(?P<at>[^\s:]{1,150}): (?P<said>command not found)$"),
    rule(
        Class.MISSING_COMMAND,
        r"^(?:\S{0,60}/)?(?:sh|ash|dash|\S{1,60}\.sh): (?:line \d+: |\d+: )?(?P<at>[^\s:]{1,150}): (?P<said>not found)$",
    ),
    rule(Class.MISSING_COMMAND, r"^zsh:(?:\d+:)? (?P<said>command not found: (?P<at>\S{1,150}))"),
    rule(
        Class.MISSING_COMMAND,
        r"^make(?:\[\d+\])?: (?P<at>[^\s:*]{1,150}): (?P<said>(?:No such file or directory|Command not found))$",
    ),
    rule(
        Class.MISSING_COMMAND,
        r"^(?:/usr/bin/)?env: ['‘\"]?(?P<at>[^\s'’:\"]{1,150})['’\"]?: (?P<said>No such file or directory)",  # noqa: RUF001 - as GNU quotes
    ),
    rule(
        Class.MISSING_COMMAND,
        r"^.{0,200}(?P<said>failed to run command ['‘\"](?P<at>[^'’\"\n]{1,150}).*)",  # noqa: RUF001 - as GNU quotes
    ),
    rule(Class.MISSING_COMMAND, r"^.{0,200}exec: \"(?P<at>[^\"\n]{1,150})\": (?P<said>executable file not found.*)"),
    rule(Class.MISSING_COMMAND, r"^.{0,80}(?P<said>spawn (?P<at>\S{1,150}) ENOENT)"),
    rule(
        Class.MISSING_COMMAND,
        r"^(?:error: )?(?P<said>(?:no such (?:sub)?command: [`'\"](?P<at>[^`'\"\n]{1,80})|"
        r"Failed to spawn: [`'\"](?P<name>[^`'\"\n]{1,80})).*)",
    ),
    rule(
        Class.MISSING_COMMAND,
        r"^(?P<said>'?(?P<at>[\w.-]{1,80})'? is not recognized as .*|Command '(?P<name>[^'\n]{1,80})' not found.*)",
    ),
    rule(
        Class.MISSING_COMMAND,
        r"^.{0,20}(?P<said>ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL.{0,20}Command \"(?P<at>[^\"\n]{1,80})\" not found)",
    ),
)

FILES: tuple[Rule, ...] = (
    rule(
        Class.PERMISSION,
        r"^(?:\S{1,100}: )?(?:line \d+: |\d+: )?(?:cannot [\w ]{1,40} )?(?:['‘\"](?P<name>[^'’\"\n]{1,200})['’\"]|"  # noqa: RUF001 - as GNU quotes
        r"(?P<path>[^\s:]{1,200})): (?P<said>Permission denied|Operation not permitted|Read-only file system)",
    ),
    rule(
        Class.PERMISSION,
        r"^(?:\S{1,80}: )?(?P<said>(?:PermissionError: |Error: E(?:ACCES|PERM|ROFS): |.{0,100}\bE(?:ACCES|PERM|ROFS)\b|"
        r".{0,200}(?:Permission denied|permission denied|Operation not permitted|Read-only file system)).*)",
    ),
    rule(Class.MISSING_FILE, r"^(?P<said>ERROR: (?:file or directory not found|not found): (?P<name>\S{1,200}))"),
    rule(
        Class.MISSING_FILE,
        r"^(?P<at>[^\s:]{1,200}:\d+):(?:\d+:)? fatal error: (?P<name>[^\s:]{1,200}): (?P<said>No such file or directory)",
    ),
    rule(
        Class.MISSING_FILE,
        r"^(?P<at>[^\s:]{1,200}:\d+):(?:\d+:)? (?P<said>fatal error: '(?P<name>[^'\n]{1,200})' file not found)",
    ),
    rule(Class.MISSING_FILE, r"^\S{1,150}: can't open file '(?P<name>[^'\n]{1,200})': (?P<said>.*)"),
    rule(Class.MISSING_FILE, r"^(?:\S{1,80}: )?(?P<said>FileNotFoundError: .*?(?:'(?P<name>[^'\n]{1,200})')?)$"),
    rule(Class.MISSING_FILE, r"^.{0,200}?(?P<said>ENOENT: no such file or directory, \w+ '(?P<name>[^'\n]{1,200})')"),
    rule(
        Class.MISSING_FILE,
        r"^(?:\S{1,100}: )?(?:line \d+: |\d+: )?(?:\w{1,12}: )?(?:[Cc]annot [\w ]{1,40} |can't [\w ]{1,20} |can't read |"
        r"failed to access )?(?:['‘\"](?P<name>[^'’\"\n]{1,200})['’\"](?: for reading)?|"  # noqa: RUF001 - as GNU quotes
        r"(?P<path>[^\s:]{1,200})): (?P<said>No such file or directory)",
    ),
    rule(Class.MISSING_FILE, r"^.{0,100}?(?:open|stat|lstat|chdir) (?P<name>[^\s:]{1,200}): (?P<said>no such file or directory)"),
    rule(
        Class.MISSING_FILE,
        r"^.{0,30}(?P<said>No rule to make target ['`](?P<name>[^'`\n]{1,150})', needed by .*|"
        r"No targets specified and no makefile found.*)",
    ),
    rule(
        Class.MISSING_FILE,
        r"^(?P<said>.{0,60}(?:could not find `(?P<name>[^`\n]{1,80})` in|go\.mod file not found|"
        r"Could not open requirements file|does not exist or is not a directory|No such file or directory|"
        r"no such file or directory|The system cannot find the (?:file|path)).*)",
    ),
)

USAGE: tuple[Rule, ...] = (
    rule(
        Class.USAGE,
        r"^(?:\S{1,150}: )?(?:error: |ERROR: |Error: )?(?P<said>(?:unrecognized (?:arguments?|option|"
        r"command-line option):? |the following arguments are required: |(?:argument .{1,80}: )?(?:invalid choice|"
        r"expected (?:one|at least one) argument|invalid \S{1,40} value|not allowed with argument): ?).*)",
    ),
    rule(
        Class.USAGE,
        r"^(?:\S{1,150}: )?(?:error: |ERROR: |Error: )?(?P<said>(?:[Uu]nknown (?:option|argument|command|flag|"
        r"shorthand flag|switch|subcommand)s?\b|[Ii]nvalid (?:option|argument|flag|value)\b|[Ii]llegal option|"
        r"[Uu]nrecognized (?:subcommand|command|flag)|unexpected argument|[Nn]o such (?:option|command)\b|[Bb]ad option|"
        r"unsupported option).*)",
    ),
    rule(
        Class.USAGE,
        r"^(?:\S{1,150}: )?(?:error: |Error: )?(?P<said>(?:flag provided but not defined|missing (?:\w+ ){0,3}operand|"
        r"option requires an argument|[Mm]issing (?:required )?(?:argument|option|parameter|script)|"
        r"Option ['\"].{1,60}['\"] requires|unterminated .{0,20}command|-e expression #\d+|a value is required for|"
        r"the argument .{1,80} (?:cannot be used|requires)|Got unexpected extra argument|usage error|too (?:many|"
        r"few) arguments|invalid number of).*)",
    ),
    rule(Class.USAGE, r"^npm (?:ERR!|error) (?P<said>Missing script: [\"']?(?P<name>[^\"'\n]{1,80}).*)"),
    rule(
        Class.USAGE,
        r"^(?P<said>error: Script not found .*|error Command \"(?P<name>[^\"\n]{1,60})\" not found\.|"
        r".{0,20}ERR_PNPM_NO_SCRIPT.*|.{0,30}Missing script: .*)",
    ),
    rule(Class.USAGE, r"^make(?:\[\d+\])?: \*\*\* (?P<said>No rule to make target ['`](?P<name>[^'`\n]{1,150})'.*)"),
    rule(
        Class.USAGE,
        r"^(?:\S{1,150}: )?(?:[^\n:]{1,200}: )?(?P<said>(?:Is a directory|Not a directory|File exists|Directory not empty|"
        r"argument list too long|Argument list too long))$",
    ),
    rule(
        Class.USAGE,
        r"^(?:\S{1,100}: )?(?:Unknown command: \"(?P<name>[^\"\n]{1,60})\"|.{0,100}is a directory \(not copied\)|"
        r".{0,40}-r not specified.*|-p: .*)",
    ),
    rule(Class.USAGE, r"^(?P<said>[Uu]sage: .*|curl: (?:\([23]\)|option) .*)"),
)
