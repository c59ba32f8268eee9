"""The labelled corpora of small diffs, and the scenes that are made of them.

A case is a small change of a small repository, as an iteration of a coding agent leaves it. The rules were improved on
`bench/invariants_corpus/*.toml`, whose files `second_*` were held out once; `bench/invariants_heldout/*.toml` only measures
them, and no rule is changed because of it. What stands at the head of a file holds for each of its cases. A file of a case
is written as one of `diff` (the whole file: each line begins with a space, + or -), `after` (added), `before` (deleted) and
`text` (as it was, which with `was` is a mere renaming).
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.scene import Scene

CORPUS = Path(__file__).parent / "invariants_corpus"

Family = Literal[
    "tests.deleted",
    "tests.uncollected",
    "tests.skipped",
    "assertions.weakened",
    "tests.fewer",
    "hard_coded",
    "test_detection",
    "always_equal",
    "stubs",
    "suppressions",
    "protected",
    "collection",
    "patched",
]
Language = Literal["python", "javascript", "typescript", "go", "rust", "java", "ruby"]


class Written(BaseModel):
    """A part of the corpus as it is written: nothing unknown, nothing changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class CaseFile(Written):
    """One file, before and after."""

    path: str = Field(min_length=1)
    """As it is called now; as it was called, where it is deleted."""
    was: str = ""
    """As it was called, where it is renamed."""
    diff: str | None = None
    before: str | None = None
    after: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _written_in_one_way(self) -> Self:
        if [self.diff, self.before, self.after, self.text].count(None) != 3:
            raise ValueError(f"{self.path}: give one of diff, before, after and text")
        if self.was and self.diff is None and self.text is None:
            raise ValueError(f"{self.path}: what is renamed is neither added nor deleted")
        return self

    @model_validator(mode="after")
    def _diff_is_a_diff(self) -> Self:
        if self.diff is None:
            return self
        signs = {line[:1] for line in self.diff.splitlines()}
        if not signs <= {"", " ", "+", "-"} or not signs & {"+", "-"}:
            raise ValueError(f"{self.path}: every line of a diff begins with a space, + or -, and one differs")
        return self

    @property
    def unchanged(self) -> bool:
        return self.text is not None and not self.was

    @property
    def old_text(self) -> str | None:
        return self.before if self.text is None and self.diff is None else self._side("-")

    @property
    def new_text(self) -> str | None:
        return self.after if self.text is None and self.diff is None else self._side("+")

    @property
    def status(self) -> str:
        if self.was:
            return "R"
        return "A" if self.after is not None else "D" if self.before is not None else "M"

    def _side(self, sign: str) -> str:
        if self.diff is None:
            return self.text or ""
        return "".join(f"{line[1:]}\n" for line in self.diff.splitlines() if line[:1] in {"", " ", sign})


class Counts(Written):
    """Numbers of tests of one check."""

    most: int = Field(ge=0)
    """The largest number that was ever seen to run."""
    passed: int = Field(ge=0)
    failed: int = Field(default=0, ge=0)
    skipped: int = Field(default=0, ge=0)


class Case(Written):
    """One labelled diff."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)+$")
    label: Literal["honest", "dishonest"]
    family: Family | None = None
    """The rule that a finding is expected of, where it is dishonest."""
    also: tuple[Family, ...] = ()
    """Further rules of which a finding would be right as well."""
    language: Language
    commands: tuple[str, ...] = Field(min_length=1)
    """The check commands, as an operator would have written them."""
    protected: tuple[str, ...] = ()
    """Glob patterns of paths that the operator protects."""
    tolerated_warn: bool = False
    """Whether a warning is in place although the change is honest."""
    file: tuple[CaseFile, ...] = Field(min_length=1)
    counts: dict[str, Counts] = {}
    """What the checks ran, by command, where a case is about numbers."""

    @model_validator(mode="after")
    def _labelled_soundly(self) -> Self:
        if (self.label == "dishonest") != (self.family is not None):
            raise ValueError(f"{self.name}: a dishonest case has a family, an honest one has none")
        if not any(not file.unchanged for file in self.file):
            raise ValueError(f"{self.name}: nothing changes")
        if not set(self.counts) <= set(self.commands):
            raise ValueError(f"{self.name}: counts of a command that is no check")
        return self

    @property
    def honest(self) -> bool:
        return self.label == "honest"

    @property
    def families(self) -> tuple[Family, ...]:
        return (self.family, *self.also) if self.family else ()


def cases(folder: Path = CORPUS, pattern: str = "*.toml") -> tuple[Case, ...]:
    """Every case of a corpus, or of those files of it that match, in the order of file names."""
    return tuple(case for path in sorted(folder.glob(pattern)) for case in _cases_of(path))


def _cases_of(path: Path) -> Iterator[Case]:
    head: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    written: list[dict[str, Any]] = head.pop("case")
    for case in written:
        yield Case.model_validate(head | case)


def scene(case: Case) -> Scene:
    """What a rule gets to see of a case."""
    changed = tuple(_file_diff(file) for file in case.file if not file.unchanged)
    return Scene(
        diff=TreeDiff(changed),
        tests={file.path: file.text or "" for file in case.file if file.unchanged and "test" in _as_test(file.path)},
        paths=frozenset(file.path for file in case.file if file.new_text is not None),
        commands=case.commands,
        protected=case.protected,
        report=_report(case) if case.counts else None,
        most_tests={command: counts.most for command, counts in case.counts.items()},
    )


def _as_test(path: str) -> str:
    return path.replace("spec", "test").lower()


def _file_diff(file: CaseFile) -> FileDiff:
    return FileDiff(path=file.path, before=file.old_text, after=file.new_text, status=file.status, old_path=file.was)


def _report(case: Case) -> CheckReport:
    return CheckReport(tree="tree", results=tuple(_result(command, counts) for command, counts in case.counts.items()))


def _result(command: str, counts: Counts) -> CheckResult:
    found = TestCounts(passed=counts.passed, failed=counts.failed, skipped=counts.skipped)
    return CheckResult(
        name=command, command=command, passed=not counts.failed, exit_code=int(bool(counts.failed)), seconds=1, counts=found
    )
