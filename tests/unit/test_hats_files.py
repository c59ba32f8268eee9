"""Files of hats and presets: errors name file, line and key."""

import pytest

from helmsman.errors import OperatorError
from helmsman.parsers.definitions import LARGEST, read_hat, read_sheet
from helmsman.records.hats import Condition

pytestmark = pytest.mark.feature("M10")

HAT = '+++\nname = "tester"\ntitle = "Tester"\n\n[[when]]\nfirst = true\n+++\n\nFind the smallest case.\n'
SHEET = '+++\nname = "mine"\ntitle = "Mine"\nabout = "Ours."\n\n[settings.limits]\niterations = 5\n+++\n\nKeep it short.\n'


def hat_complaint(text: str) -> str:
    with pytest.raises(OperatorError) as caught:
        read_hat(text, "hats/x.md")
    return str(caught.value)


def sheet_complaint(text: str) -> str:
    with pytest.raises(OperatorError) as caught:
        read_sheet(text, "presets/x.md")
    return str(caught.value)


def test_conditions_are_one_table_or_several() -> None:
    one = read_hat(HAT.replace("[[when]]", "[when]"), "x.md")
    assert one == read_hat(HAT, "x.md")
    assert one.when == (Condition(first=True),)


def test_what_is_wrong_with_a_hat_is_told_with_file_line_and_key() -> None:
    for text, words in [
        ("no front matter", ("hats/x.md:1:", "+++")),
        ("+++\nname = 'x'\n", ("hats/x.md:1:", "closes")),
        (HAT.replace('"Tester"', "Tester"), ("hats/x.md:3:", "Invalid value")),
        (HAT.replace("title", "titel"), ("hats/x.md:3: 'titel': unknown key; did you mean title?", "hats/x.md:1: title:")),
        (HAT.replace("first = true", "frist = true"), ("hats/x.md:6: when.0.'frist': unknown key; did you mean first?",)),
        (HAT.replace("first = true", "in_row = 2"), ("hats/x.md:5:", "failing together with in_row")),
        (HAT.replace("first = true", ""), ("hats/x.md:5: when:", "at least one condition")),
        (HAT.replace("first = true", "failing = ['tests']"), ("hats/x.md:6: when.0.failing.0:", "'tests'")),
        (HAT.replace("first = true", "failing = ['test']\nin_row = '2'"), ("hats/x.md:7: when.0.in_row: expected a whole",)),
        (HAT.replace('"tester"', '"../tester"'), ("hats/x.md:2: name:",)),
        (HAT.replace("Find the smallest case.", ""), ("prompt:",)),
        (HAT.replace("Find", "x" * LARGEST), ("hats/x.md:1:", "longer than 16,384")),
        (HAT.replace("\n\n[[when]]", '\nallowed_tools = ["Bash(a:*),Write"]\n\n[[when]]'), ("hats/x.md:4: allowed_tools.0:",)),
        (HAT.replace("\n\n[[when]]", f"\nmodel = {'[' * 9000}{']' * 900}\n\n[[when]]"), ("hats/x.md:1:", "nested too deeply")),
        ("+++\nwhen = 5\n+++\nx", ("hats/x.md:2: when:",)),
    ]:  # fmt: skip
        told = hat_complaint(text)
        assert not [word for word in words if word not in told], told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SHEET.replace("iterations", "iteration"), (":7: settings.limits.iteration: unknown key; did you mean limits.iter",)),
        (SHEET.replace("= 5", "= 'many'"), (":7: settings.limits.iterations: expected a whole number, found 'many'",)),
        (SHEET.replace("settings.limits]", "settings]\ngoal = 'x'\npreset = 'y'\n[settings.limits]"),
         (":7: settings.goal: not in a preset", ":8: settings.preset: not in a preset")),
        (SHEET.replace("[settings.limits]\niterations", "settings"), (":6: settings: expected",)),
        (SHEET.replace('"Ours."', '"Ours.\\u001b[2J"'), (":4: about:",)),
        (SHEET.replace('title = "Mine"', 'title = "Mine"\nhats = ["../../x"]'), (":4: hats.0:",)),
        (SHEET.replace("iterations = 5", "tokens = 1\n[settings.tracker]\nkind = 'gitea'"),
         (":8: settings.tracker: expected tracker.repository",)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_preset_is_told_with_file_line_and_key(text: str, words: tuple[str, ...]) -> None:
    told = sheet_complaint(text)
    assert not [word for word in words if f"presets/x.md{word}" not in told], told


def test_control_characters_of_a_file_reach_neither_prompt_nor_terminal() -> None:
    hat = read_hat(HAT.replace("smallest", "small\x1b[2Jest\tone\x07"), "x.md")
    assert all(mark.isprintable() for mark in hat.prompt)
