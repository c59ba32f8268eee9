"""The HTML report: self-contained, safe against untrusted text, and true to the records."""

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.plain import clean
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Execution
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, Finding, Weight
from helmsman.records.control import Control, EscalationLevel, Ladder, Oversight, Progress
from helmsman.records.state import Spending, Waiting
from helmsman.render.facts import checks_kind
from helmsman.render.report import MOST_OUTPUTS, MOST_SHOWN, html_report, style
from helmsman.render.templating import OUTPUT_SHOWN
from helmsman.texts import format_duration, format_money
from tests.unit.builders import HOUR, NOW, STOP, WAIT, check, record, report, state
from tests.unit.full_records import full_record, full_state, overwritten

pytestmark = pytest.mark.feature("H4")

REF = "refs/helmsman/mend-it/state"
VOID = {"meta", "link"}
MINUS = "\N{MINUS SIGN}"
ELEMENTS = {
    "html", "head", "body", "meta", "link", "title", "style", "main", "header", "section", "footer", "div", "figure",
    "h1", "h2", "h3", "p", "span", "strong", "code", "pre", "time", "ul", "li", "dl", "dt", "dd",
    "details", "summary", "progress",
    "table", "thead", "tbody", "tr", "th", "td",
    "svg", "text", "line", "polyline", "polygon", "circle", "rect",
}  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>",
    "' onmouseover='alert(1)' x='",
    "</style></title></pre></textarea><iframe src=//evil.example></iframe>",
    "--><svg onload=alert(1)>]]><![CDATA[",
    "&lt;script&gt;&#60;b&#62;",
    "\x1b[2J\x00\ud800\u202e<b\u2028>",
    "{{7*7}} ${x} %s `rm`",
)


@dataclass
class Read(HTMLParser):
    """What a browser makes of the page: elements with their attributes, and texts."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list[tuple[str, dict[str, str | None]]])
    open: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read(html: str) -> Read:
    parser = Read()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def text_of(html: str) -> str:
    """All that is read, without the style."""
    return " ".join(read(html.replace(style(), "")).texts)


def assert_harmless(html: str) -> None:
    found = read(html)
    assert {tag for tag, _ in found.elements} <= ELEMENTS
    for tag, attributes in found.elements:
        assert not [
            name for name in attributes if name.startswith("on") or name in {"style", "src", "srcset", "action", "xlink:href"}
        ]
        assert ("href" not in attributes) or (tag, attributes["href"]) == ("link", "data:,")
    assert len(found.named("style")) == 1


@pytest.mark.feature("X3")
@given(
    text=st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=60) | st.lists(st.sampled_from(HOSTILE), min_size=1).map("".join)
)
@settings(max_examples=60)
def test_foreign_text_in_every_field_stays_text(text: str) -> None:
    records = [overwritten(full_record(iteration=number), text) for number in (6, 7)]
    html = html_report(overwritten(full_state(), text), records, text)
    assert_harmless(html)
    html.encode()  # no half characters
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", html)
    shown, read = (re.sub("[`']", " ", one) for one in (clean(text), text_of(html)))  # backticks make code of what is between
    assert " ".join(read.split()).count(" ".join(shown.split())) > 50


def test_nothing_is_loaded_and_the_browser_is_told_so() -> None:
    html = html_report(full_state(), [full_record()], REF)
    assert_harmless(html)
    (policy,) = [meta["content"] for meta in read(html).named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    assert f"<style>{style()}</style>" in html
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", html)


def test_the_whole_record_is_there() -> None:
    text = " ".join(text_of(html_report(full_state(), [full_record()], REF)).split())
    for words in (
        "Mend the shop.", "All of it.", "… waiting", "ladder.human", "a person has to choose", "helmsman approve mend-it",
        "What shall become of it?", "Which of the two orders counts?", "| 7 | 62% |", "starting with a redesign",
        "Leave the tests alone.", '{"limits": {"iterations": 40}}', "ada (command line)",
        "Is there pain?", "rung 3 of 3", "different with: a clean iteration", "nothing moves", "Go on.", "3 / 2",
        "✘ pytest: 2 passed, 1 failed, 4 skipped", "collected 3 items", "1 failed, 2 passed", "cache.db", "✔ lint",
        "all tests pass", "1 test fails", "a claim was contradicted", "tests.deleted", "tests/test_shop.py:3",
        "errors are swallowed", "1 of 3, 2 needed", "the except is empty", "shop.py:4", "50% of the weight met",
        f"2 files +33 {MINUS}11", "Mend the shop",
        "RUBRIC.md", "two more tests failed than before", "refs/helmsman/mend-it/failed/7-1",
        "claude-of-the-day", "1,324 (4 written, 300 read from the cache)", "45% of 200,000 tokens", "Bash 12, mcp__tool 3",
        "turns are used up", "denied (no-verify): Bash git commit -n", "It is nearly done.",
        "P 0.38, I 1.50, D -0.125", "the part drift broke", "E-II redesign to E-III human", "the redesign failed",
        "refs/helmsman/mend-it/salvage/3-1", REF, "3 iterations without progress",
    ):  # fmt: skip
        assert words in text, words


def cells(html: str) -> list[list[str]]:
    """The lines of iterations as they are read, newest first."""
    return [_Line(line).cells for line in re.findall(r'<summary class="row">(.*?)</summary>', html, re.DOTALL)]


class _Line(HTMLParser):
    """The texts of the outermost elements."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self._depth = 0
        self.feed(line)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as it is called
        if self._depth == 0:
            self.cells.append("")
        self._depth += 1

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as it is called
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.cells[-1] += data


def test_every_number_of_a_line_is_the_records() -> None:
    change = Change(start="b", commit="c", tree="d", files_changed=1, insertions=1_234, deletions=5)
    called = AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=1, usage=Usage(cost_usd=1234.5), tools=(("Bash", 1),))
    oversight = Oversight(
        progress=Progress(completion=0.375), ladder=Ladder(rung=EscalationLevel.REDESIGN), control=Control(output=0.375)
    )
    made = record(iteration=12_345, execution=Execution(call=called, change=change), oversight=oversight)
    spent = Spending(cost_usd=1234.5, tokens=1_234_567, agent_calls=3, seconds=3_661)
    html = html_report(state(spending=spent, iteration=12_345), [made], REF)
    (line,) = cells(html)
    work = f"1 file +1234 {MINUS}5"
    assert line[:8] == ["12345", "22 Nov 12:00", "finished, 1 tool call", work, "✘ 1 of 1", " 38%", "E-II", format_money(1234.5)]
    assert line[8].startswith("continue the check fails")
    values = re.findall(r'<div class="value">(.*?)</div>', html)
    assert values[1:5] == ["12,345", format_money(1234.5), format_duration(3_661), "1,234,567"]
    assert [bar["value"] for bar in read(html).named("progress")] == ["0.375"]


def test_iterations_stand_newest_first_and_only_the_newest_is_open() -> None:
    html = html_report(state(iteration=3), [record(iteration=number) for number in (1, 2, 3)], REF)
    assert [line[0] for line in cells(html)] == ["3", "2", "1"]
    entries = re.findall(r"<details( open=.open.)?>\s*<summary class=.row.", html)
    assert [bool(entry) for entry in entries] == [True, False, False]


def test_attempts_are_distinguished() -> None:
    html = html_report(state(), [record(WAIT), record(attempt=2)], REF)
    assert [line[0] for line in cells(html)] == ["1.2", "1"]


def test_a_long_loop_is_truncated_with_a_notice() -> None:
    one = full_record()
    records = [one.model_copy(update={"iteration": number, "attempt": 1}) for number in range(9_501, 10_001)]
    html = html_report(full_state(iteration=10_000), records, REF, cut=True)
    assert len(cells(html)) == MOST_SHOWN
    assert html.count("output of pytest") == html.count("its last message") == MOST_OUTPUTS
    assert "The newest 500, here and in the charts" in html
    assert len(html) < 12_000_000


def test_charts_hold_the_numbers_of_the_records() -> None:
    html = html_report(full_state(), [full_record(iteration=1), full_record(iteration=2, attempt=1)], REF)
    tips = re.findall(r"<title>(at 2: [^<]*)</title>", html)
    assert tips == ["at 2: 62.5", "at 2: 0.812", "at 2: 3", "at 2: 3.5", "at 2: 1,390", "at 2: 90k"]


def test_a_long_output_shows_its_end_and_counts_the_rest() -> None:
    long = "x" * 500 + "\nBEGIN" + "y" * OUTPUT_SHOWN + "END"
    html = html_report(state(), [record(checks=report(check(passed=False, head=long)))], REF)
    assert "END" in html
    assert "BEGIN" not in html
    assert f"[{len(long) - OUTPUT_SHOWN:,} characters omitted]" in html


def test_a_loop_that_has_not_begun_has_a_page_as_well() -> None:
    html = html_report(state(), [], REF)
    assert_harmless(html)
    text = text_of(html)
    assert "None has ended yet." in text
    assert "Done not yet Proof none yet" in " ".join(text.split())
    assert text.count("no data yet") > 5


def test_the_page_begins_with_whether_it_is_done_what_proves_it_what_it_cost_and_what_to_look_at() -> None:
    finding = Finding(rule="tests.deleted", weight=Weight.HINT, path="a.py", message="a test is gone", honest="keep it")
    done = state(
        ending=STOP,
        iteration=2,
        verified="c" * 40,
        checks=CheckReport(tree="t", results=(check(passed=True),)),
        spending=Spending(cost_usd=1.2, tokens=3000, seconds=60),
        findings=(finding,),
    )
    text = " ".join(text_of(html_report(done, [record(STOP)], REF)).split())
    proof = "Proof 1 of 1 check green; proven at cccccccccccc"
    order = ("Done yes:", proof, "Cost $1.20", "Look at git diff", "a test is gone", "Next", "Completion")
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_loop_that_waits_says_until_when() -> None:
    waiting = Waiting(until=NOW + HOUR, rule="agent.usage_limit", reason="the usage limit is reached.")
    text = text_of(html_report(state(waiting=waiting), [record(WAIT)], REF))
    assert f"it continues at {NOW + HOUR:%Y-%m-%d %H:%M} UTC: the usage limit is reached." in text


@pytest.mark.feature("X3")
def test_what_comes_next_can_be_copied_into_a_shell_whatever_the_branch_is_called() -> None:
    html = html_report(state(ending=STOP, iteration=1, branch="helmsman/a;${IFS}pwned"), [record(STOP)], REF)
    assert "git diff ...'helmsman/a;${IFS}pwned' Next git merge 'helmsman/a;${IFS}pwned'" in " ".join(text_of(html).split())


def test_work_in_place_is_not_to_be_merged() -> None:
    text = text_of(html_report(state(ending=STOP, iteration=1, branch="main"), [record(STOP)], REF))
    assert "helmsman log mend-it" in text
    assert "git merge" not in text


def test_completion_looks_like_completion() -> None:
    html = html_report(state(ending=STOP, iteration=1), [record(STOP)], REF)
    assert '<div class="why good">' in html
    assert "git merge helmsman/mend-it" in text_of(html)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (None, "neutral"),
        (report(), "neutral"),
        (report(check(passed=True)), "good"),
        (report(check(passed=True), check(passed=False)), "bad"),
        (report(check(passed=True, flaky=("test_a",))), "warn"),
    ],
)
def test_checks_are_good_bad_or_doubtful(found: CheckReport | None, kind: str) -> None:
    assert checks_kind(found) == kind
