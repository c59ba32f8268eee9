"""Causes that lie deeper than a failing test or build: they are looked for first, in the words of the failure itself."""

from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Rule, rule

_INSTALLERS = (
    "pip pip3 uv poetry pdm npm pnpm yarn bun npx git cargo go gradle gradlew mvn mvnw bundle gem composer docker dotnet apt "
    "apt-get"
)
_UNREACHED = (
    r"(?:Temporary failure in name resolution|Name or service not known|nodename nor servname provided|[Nn]o such host|"
    r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|EAI_AGAIN|ENETUNREACH|Network is unreachable|"
    r"No route to host|CERTIFICATE_VERIFY_FAILED|"
    r"ECONNREFUSED|ECONNRESET|ETIMEDOUT|[Cc]onnection (?:refused|reset by peer|timed out)|TLS handshake|SSL certificate problem|"
    r"unable to get local issuer certificate|UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)"
)
_HOST = r"(?:https?://)?(?P<at>[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})"

UNREACHED: tuple[Rule, ...] = (
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>Could not resolve (?:host|hostname)):? '?{_HOST}", _INSTALLERS),
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>getaddrinfo (?:ENOTFOUND|EAI_AGAIN)) {_HOST}", _INSTALLERS),
    rule(Class.NETWORK, rf"^.{{0,200}}(?P<said>dial tcp:? (?:lookup )?{_HOST}.*)", _INSTALLERS),
    rule(Class.NETWORK, rf"^.{{0,300}}(?P<said>{_UNREACHED})", _INSTALLERS),
)
"""A host that an installer does not reach explains the package that it does not find."""

EARLY: tuple[Rule, ...] = (
    # resources: nothing else that is printed after them means anything
    rule(
        Class.RESOURCES,
        r"^.{0,300}(?P<said>No space left on device|Cannot allocate memory|Too many open files|Disk quota exceeded)",
    ),
    rule(
        Class.RESOURCES,
        r"^.{0,300}(?P<said>JavaScript heap out of memory|java\.lang\.OutOfMemoryError.{0,80}|runtime: out of memory)",
    ),
    rule(Class.RESOURCES, r"^(?:\S{1,200}: )?(?:line \d+: +\d+ +)?(?P<said>Killed)(?=$| )"),
    rule(
        Class.RESOURCES,
        r"^.{0,200}(?P<said>Killed signal terminated program \S+|signal: 9, SIGKILL|signal: killed|"
        r"LLVM ERROR: out of memory)",
    ),
    rule(
        Class.RESOURCES,
        r"^(?P<said>MemoryError\b.*|.{0,100}fork: retry: Resource temporarily unavailable|.{0,80}\bE(?:NOSPC|MFILE|"
        r"NOMEM): .*)",
    ),
    rule(Class.TIMEOUT, r"^(?:panic: )?(?P<said>test timed out after \S+)"),
    # modules and packages
    rule(
        Class.MISSING_MODULE,
        r"^(?:\S{1,80}: )?(?P<said>(?:ModuleNotFoundError|ImportError): No module named ['\"]?(?P<name>[\w.]+).*)",
    ),
    rule(Class.MISSING_MODULE, r"^\S{0,200}python[0-9.]*(?:\.exe)?: (?P<said>No module named ['\"]?(?P<name>[\w.]+).*)"),
    rule(
        Class.MISSING_MODULE,
        r"^(?P<said>ImportError: (?:cannot import name ['\"](?P<name>\w+)|DLL load failed|.{0,120}shared object file).*)",
    ),
    rule(
        Class.MISSING_MODULE,
        r"^ {0,8}(?:[^\s:][^:\n]{0,60}: )?(?P<said>(?:Error(?: \[ERR_MODULE_NOT_FOUND\])?: )?Cannot find (?:module|"
        r"package) ['\"](?P<name>[^'\"\n]{1,200})['\"].*)",
    ),
    rule(Class.MISSING_MODULE, r"^.{0,40}(?P<said>Module not found: (?:Error: )?Can't resolve ['\"](?P<name>[^'\"\n]{1,200}).*)"),
    rule(
        Class.MISSING_MODULE,
        r"^.{0,60}(?P<said>(?:Rollup f|F)ailed to resolve import \"(?P<name>[^\"\n]{1,200})\".*|"
        r"Could not resolve \"[^\"\n]{1,200}\".*)",
    ),
    rule(
        Class.MISSING_MODULE,
        r"^(?:(?P<at>\S{1,150}:\d+):\d+: )?(?P<said>no required module provides package (?P<name>[^\s;]+).*|"
        r"package \S+ is not in std.*|cannot find (?:package|module providing package) .*)",
    ),
    rule(
        Class.MISSING_MODULE,
        r"^(?P<said>error(?:\[E0(?:432|433|463)\])?: (?:unresolved import|failed to resolve: use of (?:undeclared|"
        r"unresolved)|can't find crate|no matching package).*)(?:\n *--> (?P<at>[^\s:]{1,200}:\d+))?",
    ),
    rule(Class.MISSING_MODULE, r"^.{0,200}\b(?P<said>cannot load such file -- (?P<name>\S{1,200}))"),
    rule(
        Class.MISSING_MODULE,
        r"^(?:\[ERROR\] )?(?P<at>\S{1,200}\.(?:java|kt)(?::\d+|"
        r":\[\d+))\S{0,10}:? (?:error: )?(?P<said>package \S{1,100} does not exist)",
    ),
    rule(
        Class.MISSING_MODULE,
        r"^(?P<said>ERROR: (?:No matching distribution found for|"
        r"Could not find a version that satisfies the requirement) (?P<name>[\w.-]+).*)",
    ),
    rule(
        Class.MISSING_MODULE,
        r"^npm (?:ERR!|error) 404 +(?P<said>'?(?P<name>@?[\w./-]{1,200})\S{0,60} is not in (?:this|the npm) registry.*)",
    ),
    rule(Class.MISSING_MODULE, r"^npm (?:ERR!|error) (?:404|code E404|code ETARGET|notarget)(?P<said> .*)"),
    rule(Class.MISSING_MODULE, r"^.{0,200}(?P<said>cannot find -l(?P<name>[\w+.-]{1,80}))"),
    rule(
        Class.MISSING_MODULE,
        r"^(?P<said>.{0,60}(?:because (?P<name>\S{1,80}) was not found in the package registry|"
        r"Unable to locate package).{0,100})",
    ),
    rule(Class.MISSING_MODULE, r"^(?P<at>\S{1,200}\.cs)\(\d+,\d+\): error CS0246: (?P<said>.{0,160})"),
    # code that cannot be parsed
    rule(Class.SYNTAX, r"^(?P<said>invalid-syntax: .*)\n *--> (?P<at>[^\s:]{1,200}:\d+)"),
    rule(
        Class.SYNTAX,
        r"^(?P<file>[^\s:]{1,200}\.\w{1,5}): (?:line )?(?P<line>\d+): (?P<said>[Ss]yntax error(?:: | near ).{0,200})",
    ),
    rule(Class.SYNTAX, r"^ {0,4}(?P<said>(?:SyntaxError|IndentationError|TabError): (?!.{0,80}\bJSON\b).*)"),
    rule(
        Class.SYNTAX,
        r"^(?:\./)?(?P<at>[^\s:]{1,200}:\d+):(?:\d+:)? (?P<said>(?:syntax error|expected (?:declaration|operand|';'|'\)'|"
        r"statement)|missing ',').{0,200})",
    ),
    rule(Class.SYNTAX, r"^(?:\S{1,200}: )?(?:-c: )?line \d+: (?P<said>unexpected EOF while looking for matching .*)"),
    rule(
        Class.SYNTAX,
        r"^(?:\S{1,200}: )?(?:(?:-c|eval): )?(?:line \d+: |\d+: )?(?P<said>[Ss]yntax error(?:: | near |, ).{0,200})",
    ),
    rule(
        Class.SYNTAX,
        r"^(?P<at>[^\s:]{1,200}:\d+):\d+: error: (?P<said>expected (?:‘|'|identifier|declaration|expression|"  # noqa: RUF001 - as gcc quotes
        r"unqualified).{0,200})",
    ),
    rule(
        Class.SYNTAX,
        r"^(?P<at>[^\s:]{1,200}\.java:\d+): error: (?P<said>(?:'[^']{1,5}' expected|reached end of file while parsing|"
        r"illegal start of|class, interface).{0,100})",
    ),
    rule(Class.SYNTAX, r"^(?P<at>[^\s:()]{1,200}(?:\(\d+,\d+\)|:\d+:\d+)) ?[:-] (?P<said>error TS1[0-4]\d\d: .*)"),
    rule(
        Class.SYNTAX,
        r"^(?P<said>error: (?:expected (?:one of|expression|item|identifier|`)|this file contains an un-?closed delimiter|"
        r"unexpected closing delimiter|mismatched closing delimiter).*)(?:\n *--> (?P<at>[^\s:]{1,200}:\d+))?",
    ),
    rule(Class.SYNTAX, r"^(?:PHP )?Parse error: +(?P<said>syntax error.{0,200}?) in \S{1,200} on line \d+"),
    rule(Class.SYNTAX, r"^(?P<at>[^\s:]{1,200}:\d+): (?P<said>(?:syntax error|\*\*\* (?:missing separator|unterminated)).*)"),
    rule(Class.SYNTAX, r"^(?P<said>error: cannot format (?P<at>[^\s:]{1,200}): Cannot parse.*)"),
    rule(Class.SYNTAX, r"^(?:error: )?(?P<said>Failed to parse (?P<at>[^\s:]{1,200}:\d+)\S*.*)"),
    rule(
        Class.SYNTAX,
        r"^(?P<at>[^\s:]{1,200}:\d+):(?:\d+:)? (?P<said>(?:invalid-syntax|E999|SyntaxError|error: (?:[Ii]nvalid syntax|"
        r"Syntax error in)).*)",
    ),
    rule(Class.SYNTAX, r"^ *\d+:\d+ +error +(?P<said>Parsing error: .*)"),
    rule(
        Class.SYNTAX,
        r"^(?:ERROR:  |psql:\S{1,200}: ERROR:  |Error: .{0,60}|jq: error: )(?P<said>(?:syntax error|"
        r"near \"[^\"\n]{1,60}\": syntax error).*)",
    ),
    # what was to be tested was not built
    rule(
        Class.BUILD,
        r"^(?P<at>[^\s:]{1,200}\.go:\d+):(?:\d+:)? (?P<said>.*)(?=(?:\n.*){0,40}\nFAIL\t\S+ \[(?:build|setup) failed\])",
    ),
    rule(Class.BUILD, r"^FAIL\t(?P<at>\S+) \[(?P<said>(?:build|setup) failed)\]"),
)
