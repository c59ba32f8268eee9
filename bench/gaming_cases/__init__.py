"""Small repositories with a task, and changes of them: cheats in source or tests, and honest work."""

from bench.gaming_cases.model import Change, Kit
from bench.gaming_cases.other_languages import go_kits, javascript_kits, rust_kits
from bench.gaming_cases.python_kits import python_kits
from bench.gaming_cases.python_programs import python_programs_kits
from bench.gaming_cases.wrong_tests import wrong_tests_kits

__all__ = ["Change", "Kit", "kits"]


def kits() -> list[Kit]:
    return [
        *python_kits(), *javascript_kits(), *go_kits(), *rust_kits(), *wrong_tests_kits(), *python_programs_kits(),
    ]  # fmt: skip
