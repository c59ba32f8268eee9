"""Writing a new preset into a repository's checkout. What is there already stays as it is."""

from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.hats.writing import sheet_text
from helmsman.layers import shown
from helmsman.records.hats import Sheet
from tasks.hats.finding import PRESETS
from tasks.system.files import lies_within


def add_preset(top: Path, sheet: Sheet) -> Path:
    """Write its file. Raises OperatorError where one is there, or the folder leads out of the repository."""
    path = top / PRESETS / f"{sheet.name}.md"
    if not lies_within(top, path.parent):
        raise OperatorError(
            "the folder for presets leads out of the repository",
            expected=f"a folder {PRESETS}",
            found=shown(str(path.parent.resolve())),
            remedy="put a folder in the place of the link",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(sheet_text(sheet))
    except FileExistsError:
        raise OperatorError(f"{PRESETS}/{sheet.name}.md is there already", remedy="edit it, or give another name") from None
    except OSError as error:
        raise OperatorError(f"{path} cannot be written", found=str(error.strerror), remedy="make the folder writable") from error
    return path
