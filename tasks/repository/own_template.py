"""Read the repository's own template of the agent's message from a commit."""

from jinja2 import TemplateSyntaxError

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.prompts.message import check_template
from tasks.repository.branch_files import required_file
from tasks.repository.git import Repository
from tasks.system.files import resolve_inside

KEY = "prompt.template"


def read_template(repository: Repository, commit: str, config: LoopConfig) -> str:
    """Checked text of the template; empty if there is none. Raises OperatorError with file and line."""
    path = config.prompt.template
    if not path:
        return ""
    resolve_inside(repository.top, path, KEY)
    file = required_file(repository, commit, path, KEY)
    try:
        text = file.content.decode("utf-8-sig").replace("\r\n", "\n")
        check_template(text)
    except UnicodeDecodeError as error:
        line, cause = file.content.count(b"\n", 0, error.start) + 1, "it is not UTF-8"
    except TemplateSyntaxError as problem:
        line, cause = problem.lineno, problem.message or "it cannot be parsed"
    else:
        return text
    raise OperatorError(
        f"the prompt's template cannot be used: {clean(path)}:{line}: {clean(cause)}",
        expected=f"a template as docs/prompt.md describes it ({KEY})",
        remedy="correct it and commit; `helmsman prompt` shows the result",
    )
