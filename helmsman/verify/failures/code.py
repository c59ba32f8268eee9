"""What type checkers, linters, compilers and build tools object to."""

from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Rule, rule

_AT = r"(?P<at>[^\s:()\[\]]{1,200}:\d+)"

TYPES: tuple[Rule, ...] = (
    rule(Class.TYPES, rf"^ *{_AT}:\d+ - (?P<said>error: .*)"),  # pyright
    rule(Class.TYPES, r"^(?P<said>[1-9]\d* errors?, \d+ warnings?, \d+ (?:informations?|notes?))"),
    rule(Class.TYPES, r"^(?P<at>[^\s:()]{1,200}(?:\(\d+,\d+\)|:\d+:\d+)) ?[:-] (?P<said>error TS\d+: .*)"),  # tsc
    rule(Class.TYPES, r"^(?P<said>error TS\d+: .*)"),
    rule(Class.TYPES, rf"^{_AT}:(?:\d+:)? (?P<said>error: .*\[[a-z][a-z-]{{2,40}}\])$"),  # mypy
    rule(Class.TYPES, rf"^{_AT}:(?:\d+:)? (?P<said>error: .*)(?=(?:\n.*){{0,200}}\nFound \d+ errors? in \d+ file)"),
    rule(Class.TYPES, r"^(?P<said>Found [1-9]\d* errors? in \d+ files? \(.*)"),
    rule(Class.TYPES, r"^(?P<said>error\[[a-z][a-z-]{4,50}\]:? .*)\n *--> (?P<at>[^\s:]{1,200}:\d+)"),  # ty, pyrefly
)

LINT: tuple[Rule, ...] = (
    rule(Class.LINT, rf"^{_AT}:\d+: (?P<said>[A-Z]{{1,5}}\d{{3,4}}:? .*)"),  # flake8, ruff, pylint
    rule(Class.LINT, rf"^(?P<said>[A-Z]{{1,5}}\d{{3,4}} (?:\[\*\] )?.*)\n *--> {_AT}"),  # ruff, full
    rule(Class.LINT, r"^(?P<at>/?[\w@.-][^\n:]{0,180})\n +(?P<line>\d+):\d+ +error +(?P<said>\S.*)"),  # eslint
    rule(Class.LINT, r"^(?P<said>✖ [1-9]\d* problems? \([1-9]\d* errors?.*|✖ [1-9]\d* problems? .*)"),
    rule(
        Class.LINT,
        r"^\[(?:warn|error)\] (?P<at>(?!Code style)[^\n]{1,200})(?=(?:\n.*){0,400}\n\[(?:warn|"
        r"error)\] (?:Code style issues|All matched))",
    ),
    rule(Class.LINT, r"^\[(?:warn|error)\] (?P<said>Code style issues.*)"),
    rule(Class.LINT, r"^(?P<said>[Ww]ould reformat:? (?P<at>\S{1,200}))$"),
    rule(Class.LINT, r"^(?P<said>unformatted: .*)\n *--> (?P<at>[^\s:]{1,200}:\d+)"),
    rule(Class.LINT, r"^(?P<said>\d+ files? would be reformatted.*)"),
    rule(Class.LINT, r"^ERROR: (?P<at>\S{1,200}) (?P<said>Imports are incorrectly sorted.*)"),
    rule(Class.LINT, r"^Diff in (?P<at>[^\s:]{1,200}:\d+)(?P<said>):?$"),
    rule(
        Class.LINT,
        r"^(?P<said>(?:error|warning): .*)\n *--> (?P<at>[^\s:]{1,200}:\d+):\d+(?=(?:\n.*){0,40}clippy(?:::|/|\.github))",
    ),
    rule(Class.LINT, r"^(?:\./)?(?P<at>[^\s:]{1,200}\.go:\d+):\d+: (?P<said>.* \([a-z]{3,20}\))$"),  # golangci-lint
    rule(
        Class.LINT,
        r"^(?:vet: )?(?:\./)?(?P<at>[^\s:]{1,200}\.go:\d+):(?:\d+:)? (?P<said>.*)",
        "vet staticcheck golangci-lint revive",
    ),
    rule(Class.LINT, rf"^{_AT}:\d+: (?P<said>[CWEF]: (?:\[\w+\] )?.*)"),  # rubocop
    rule(Class.LINT, r"^(?P<said>\d+ files? inspected, [1-9]\d* offenses? detected.*)"),
    rule(Class.LINT, r"^In (?P<file>\S{1,200}) line (?P<line>\d+):\n(?:.*\n){1,3} *\^-+\^? (?P<said>SC\d{4}.*)"),
    rule(Class.LINT, r"^.{1,100}\.{3,}Failed\n- hook id: (?P<name>\S{1,80})"),  # pre-commit
    rule(Class.LINT, r"^(?P<said>Found [1-9]\d* errors?\.)", "ruff biome make npm pnpm yarn npx uv pre-commit tox nox"),
)

BUILD: tuple[Rule, ...] = (
    rule(Class.BUILD, rf"^{_AT}:(?:\d+:)? (?P<said>(?:fatal )?error: (?!.*No such file or directory).*)"),  # gcc, clang, javac
    rule(Class.BUILD, r"^.{0,200}?(?P<said>undefined reference to .*|multiple definition of .*|undefined symbol: .*)"),
    rule(Class.BUILD, r"^(?P<said>Undefined symbols for architecture .*)"),
    rule(Class.BUILD, r"^(?P<said>error\[E\d{4}\]: .*)(?:\n *--> (?P<at>[^\s:]{1,200}:\d+))?"),  # rustc
    rule(
        Class.BUILD,
        r"^(?P<said>error: (?!could not compile|test failed|process|aborting|"
        r"unrecognized).*)\n *--> (?P<at>[^\s:]{1,200}:\d+)",
    ),
    rule(Class.BUILD, r"^(?P<said>error: could not compile `(?P<name>[\w-]+)`.*)"),
    rule(Class.BUILD, r"^(?P<said>error: failed to (?:select a version|run custom build command|parse manifest|load source).*)"),
    rule(Class.BUILD, r"^(?:\./)?(?P<at>[^\s:]{1,200}\.go:\d+):(?:\d+:)? (?P<said>.*)", "go build test run install make"),
    rule(Class.BUILD, r"^e: (?:file://)?(?P<at>[^\s:]{1,200}:\d+):\d+:? (?P<said>.*)"),  # kotlin
    rule(Class.BUILD, r"^\[ERROR\] (?P<file>[^\s:]{1,200}):\[(?P<line>\d+),\d+\] (?P<said>.*)"),  # maven
    rule(  # dotnet, msvc
        Class.BUILD,
        r"^ *(?P<file>[^\s:()]{1,200})\((?P<line>\d+),\d+\): (?P<said>error [A-Z]{2,5}\d{3,5}: .*?)(?: \[[^\]\n]{1,300}\])"
        r"?$",
    ),
    rule(Class.BUILD, r"^(?P<said>CMake Error(?: at (?P<at>[^\s:]{1,200}:\d+))?.*(?:\n {2}\S.*)?)"),
    rule(Class.BUILD, r"^(?P<at>[^\s:]{1,200}:\d+): (?P<said>\*\*\* (?!missing separator).*)"),
    rule(Class.BUILD, r"^\* What went wrong:\n(?P<said>.*)"),
    rule(Class.BUILD, r"^\[ERROR\] (?P<said>(?:Failed to execute goal|COMPILATION ERROR|Could not resolve dependencies).*)"),
    rule(Class.BUILD, r"^(?:(?:ERR!|error) )?(?P<said>npm (?:ERR!|error) (?:code )?ERESOLVE.*|ERR_PNPM_\w+.*)"),
    rule(
        Class.BUILD,
        r"^ *(?P<said>(?:error: subprocess-exited-with-error|ERROR: (?:Failed building wheel for|ResolutionImpossible|"
        r"Cannot install|Failed to build) ?.*|× No solution found.*))",  # noqa: RUF001 - as uv prints it
    ),
    rule(Class.BUILD, r"^(?:ERROR: )?(?P<said>failed to solve: .*)"),
    rule(
        Class.BUILD,
        r"^(?:✘ |X )?\[ERROR\] (?P<said>.*)(?:\n\n +(?P<at>[^\s:]{1,200}:\d+):\d+:)?",
        "esbuild vite npm npx pnpm yarn bun",
    ),
    rule(Class.BUILD, r"^(?P<said>ERROR in .*|error during build:.*|Failed to compile\.?)(?:\n\n?(?P<at>\./[^\s:]{1,200}:\d+))?"),
    rule(Class.BUILD, r"^(?P<said>Error: (?:.{0,200}/)?[^\s:]{1,200}: .* \(\d+:\d+\))$"),  # babel
)

WRAPPERS: tuple[Rule, ...] = (
    rule(
        Class.BUILD,
        r"^(?:\S{0,60}make)(?:\[\d+\])?: \*\*\* \[(?:(?P<at>[^\s:\]]{1,150}:\d+): )?(?P<name>[^\]\n]{1,150})\] "
        r"(?P<said>Error \d+)",
    ),
    rule(Class.BUILD, r"^(?P<said>ninja: build stopped: .*|BUILD FAIL(?:ED|URE)\b.*|Build FAILED\.|FAILURE: Build failed.*)"),
    rule(Class.BUILD, r"^(?:\S{0,100}ld: |collect2: )(?P<said>error: .*|.*ld returned \d+ exit status)"),
    rule(Class.BUILD, r"^npm (?:ERR!|error) (?P<said>(?:code ELIFECYCLE|Lifecycle script `[^`\n]{1,60}` failed).*)"),
    rule(
        Class.BUILD,
        r"^(?P<said>.{0,20}ELIFECYCLE.{0,60}|error: (?:script|Recipe) [`\"][^`\"\n]{1,80}[`\"].{0,60}|"
        r"error Command failed with exit code \d+\.)",
    ),
)
"""Tools that only pass on that something below them failed: they speak when nothing else does."""
