"""Orders of honest projects contradict each other nowhere. A false alarm would stop a loop for a person."""

import pytest

from helmsman.oversee.double_bind.conflicts import conflicts
from helmsman.oversee.double_bind.imperatives import imperatives
from helmsman.records.oversight import Imperative

pytestmark = pytest.mark.feature("S11")

PROJECTS = """
@goal Fix the failing tests in `tests/test_api.py`.
@AGENTS.md
- Run `pytest -q` before every commit.
- Never edit files in `vendor/`.
- You must update the docs when behaviour changes.
- Do not delete tests to make the suite pass.
=
@goal Add a retry with back-off to `src/client.py`.
@CLAUDE.md
## Commands
- Build: `npm run build`
- Test: `npm test`
## Style
- Use TypeScript strict mode, never `any`.
- Prefer composition over inheritance.
- Do not add new dependencies without asking.
@RUBRIC.md
- The client must retry three times.
- All existing tests must pass unchanged.
=
@goal Migrate the code base from `unittest` to `pytest`.
@AGENTS.md
- Every test must be converted to pytest, except those in `tests/legacy/`.
- Leave `tests/legacy/` as it is.
- Do not change production code.
- Use fixtures instead of setUp methods.
=
@goal Implement the CSV importer described in `specs/importer.md`.
@specs/importer.md
# Importer
The importer must read UTF-8 and UTF-16. It must not load the whole file into memory.
Rows that cannot be parsed must be skipped and logged. Blank lines should be ignored.
@AGENTS.md
- Never skip a failing test.
- Log errors with the `logging` module; do not use `print`.
- Do not log personal data.
=
@CLAUDE.md
# Do
- Write small functions.
- Add type hints to all public functions.
- Use `pathlib` for paths.
# Don't
- Use `os.path`.
- Add comments that repeat the code.
- Change generated files in `src/gen/`.
@goal Extend the `export` command with a `--json` option and regenerate `docs/cli.md`.
=
@AGENTS.md
1. Read `docs/architecture.md` first.
2. Make a plan before you change code.
3. Run the linter after every change.
4. Commit after each finished task.
5. Never commit without running the tests.
6. Never push to `main`.
@goal Remove the deprecated `v1` endpoints. Keep the `v2` endpoints.
=
@AGENTS.md
## Database
- Never edit a migration that has been merged. Create a new migration instead.
- All migrations must be reversible.
- Do not use raw SQL outside `db/`.
## Tests
- Add a test for every bug.
- Tests must not use the network.
- Use the `client` fixture for requests.
@goal Add a column `deleted_at` to the users table with a new migration in `db/migrations/`.
=
@goal Upgrade React to version 19 in `package.json` and fix what breaks.
@CLAUDE.md
- Don't upgrade other dependencies.
- Don't edit `package-lock.json` by hand; run `npm install`.
- Always run `npm run lint` before committing.
- Components must be functions, not classes.
=
@goal Refactor `src/parser.rs` without changing its public API.
@AGENTS.md
- `cargo clippy` must be clean.
- Do not use `unwrap` in library code; tests may use it.
- Use `unwrap` freely in tests.
- Add tests for new code.
- Public functions must have doc comments.
=
@RUBRIC.md
## Acceptance criteria
- [ ] Every endpoint must return JSON.
- [ ] No endpoint returns a stack trace.
- [ ] Errors must use the `problem+json` format.
## Out of scope
- Windows support
- Changes to the database schema
- Authentication
@goal Add an endpoint `/health` to `app/routes.py` and a test in `tests/test_routes.py`.
=
@.helmsman/guardrails.md
- Do not run `git reset --hard`.
- When a test fails twice, read its source before changing code.
- Do not forget to run the type checker.
- Never rewrite the whole file; change the lines that matter.
@goal Make `mypy --strict` pass on `src/`.
@AGENTS.md
- Do not use `# type: ignore` to silence errors.
- Rewrite unclear code where needed.
=
@CLAUDE.md
You should write a failing test first. Then write the code that makes it pass. Finally refactor.
Do not write code before its test. Do not change a test and the code in the same commit.
@goal Write a parser for the INI format in `src/ini.py`.
=
@AGENTS.md
- Use tabs in Makefiles, spaces everywhere else.
- Use snake_case in Python and camelCase in TypeScript.
- Keep functions short.
- Remove dead code.
- Keep backwards compatibility of the REST API.
@goal Remove the unused helper functions in `src/util/`.
=
@goal Replace the home-made cache with `functools.lru_cache` in `src/cache.py`.
@CLAUDE.md
- No new dependencies. Use the standard library.
- Use the `requests` library for HTTP.
- Use existing helpers from `src/util.py` where possible.
- Don't introduce global state.
=
@AGENTS.md
## Never
- Force-push
- Delete branches you did not create
- Commit secrets
- Edit `dist/` — it is generated, edit `src/` and run the build
## Always
- Rebase on `main` before you open a pull request
- Squash fixup commits
@goal Mend the build so that `dist/` is generated again.
=
@goal Raise the test coverage of `src/billing/` to 90 %.
@AGENTS.md
- Do not add tests that only repeat the implementation.
- Do not lower the coverage threshold.
- Do not use mocks for the database; use the `db` fixture.
- Mock external HTTP services.
=
@specs/auth.md
# Authentication
Passwords must be hashed with argon2. Passwords must never be logged.
Sessions must expire after 24 hours. A session must not be reused after log-out.
The login endpoint must return 401 for unknown users. It must not say whether the user exists.
@goal Implement `specs/auth.md` in `src/auth/`.
@AGENTS.md
- Log every login attempt.
- Return errors as JSON.
=
@CLAUDE.md
> Never touch `src/`.

The line above is from an old guide and no longer holds.

| Rule | Text |
|---|---|
| 1 | must not change `src/` |

```
Do not edit src/app.py
```
@goal Change `src/app.py` so that it starts faster.
=
@goal Rename the function `load` in `src/io.py` to `read_all`.
@AGENTS.md
- Keep the public API stable unless the task says otherwise.
- Do not rename files.
- Do not rename database columns.
- Update `CHANGELOG.md` for every user-visible change.
=
@AGENTS.md
Only edit files under `packages/web/`. Other packages belong to other teams.
@goal Add dark mode to `packages/web/src/theme.ts` and its test `packages/web/src/theme.test.ts`.
=
@goal Fix the race condition in the scheduler.
@CLAUDE.md
- Do not add sleeps to tests.
- Do not increase timeouts to hide races.
- Add a regression test.
- Use `asyncio.Lock`, not threads.
- Tests should be deterministic.
- Must not only pass locally but also in CI.
=
@AGENTS.md
- You may not use `eval`.
- You don't have to add tests for scripts in `tools/`.
- Add tests for everything in `src/`.
- Avoid premature abstraction.
- Introduce an abstraction when three places need it.
@goal Add a command `stats` to `tools/report.py`.
=
@goal Translate the user interface to German.
@AGENTS.md
- All strings must be wrapped in `t()`.
- Do not translate log messages.
- Do not change translation keys.
- Add missing keys to `locales/de.json`.
- Keep keys sorted.
=
@CLAUDE.md
# Monorepo
- Packages must not import from `apps/`.
- Use `pnpm`, never `npm`.
- Run `pnpm test --filter` for the package you changed.
- Do not edit `pnpm-lock.yaml` manually.
- Add a changeset for every change of a published package.
@goal Add the `date-fns` package to `packages/ui/package.json` and use it in the calendar.
=
@goal Document the public functions of `src/geo.py`.
@RUBRIC.md
- Every public function has a docstring.
- Docstrings must have an example.
- Do not change behaviour.
- Don't add docstrings to private functions.
- Don't document parameters whose name says it all.
=
@AGENTS.md
- Every file must have a licence header.
- Do not touch `third_party/`.
- Format all files with `black`. Skip `vendor/` and `build/`.
- Generated code must not be formatted.
@goal Add licence headers to `src/`.
=
@AGENTS.md
## Testing
Run unit tests with `make unit`. Integration tests need Docker; skip them if Docker is missing.
All tests must pass before you finish.
Tests that are marked `slow` may be skipped locally.
@goal Fix the flaky test `test_upload`.
@.helmsman/guardrails.md
- Do not mark tests as skipped or flaky to make them pass.
=
@goal Port `scripts/deploy.sh` to Python.
@CLAUDE.md
- Scripts must work on Linux and macOS.
- Do not use `shell=True`.
- Use `subprocess.run` with a list of arguments.
- Do not deploy anything.
- The script must deploy to staging by default, and must not deploy to production.
=
@AGENTS.md
- Security is our top priority.
- Read `SECURITY.md` before anything else.
- First run the tests, then change code.
- Prefer clarity over cleverness.
- Prefer small commits to large ones.
@goal Validate all input of the upload form.
=
@specs/queue.md
Messages must be delivered at least once. A consumer must acknowledge a message after it was processed, never before.
Failed messages must be moved to the dead letter queue after five attempts. Messages must not be deleted
before they are acknowledged.
@goal Implement the consumer in `src/queue/consumer.go`.
@AGENTS.md
- Wrap errors with `%w`. Never ignore errors.
- Don't use `panic` in library code.
- Use table-driven tests.
=
@goal Replace `moment` with `dayjs` in `src/dates.ts`.
@AGENTS.md
- Do not add dependencies unless the task names them.
- Remove unused dependencies.
- Use `const`, never `var`.
- Do not use default exports.
- Do not disable lint rules.
- Use named exports.
=
@CLAUDE.md
Do not:
- add features nobody asked for
- change unrelated code
- leave debug output behind

Please:
- ask when the task is unclear
- leave the code cleaner than it was
@goal Add pagination to the list view, change `src/list.vue`.
=
@AGENTS.md
- Never change the tests in `tests/acceptance/`; they are the contract.
- Add unit tests in `tests/unit/`.
- Update `tests/unit/conftest.py` when fixtures change.
@goal Make `tests/acceptance/test_orders.py` pass by changing `src/orders.py` and adding unit tests to
`tests/unit/test_orders.py`.
=
@goal Speed up the start of the command line below 200 ms.
@RUBRIC.md
## Criteria
- `time app --help` must be below 200 ms.
- Do not remove commands.
- Imports should be lazy.
- Must not change output of any command.
@AGENTS.md
- Imports must stand at the top of the file except where start-up time matters.
=
@CLAUDE.md
## Git
Use conventional commits. Commit messages must be in English. Don't commit generated files.
Do not amend commits that were pushed. Branch names should start with the ticket.
## Code
Use early returns. Avoid nested ternaries. Name things after what they do. Do not abbreviate names.
@goal Add a `Dockerfile` and a workflow `.github/workflows/image.yml`.
=
@AGENTS.md
- CI configuration in `.github/` must not be changed without review.
- Don't touch `infra/`.
- Terraform must be formatted.
- Do not use `latest` tags.
@goal Pin the base image in `Dockerfile`.
=
@goal Split `app/models.py` into one module for each model.
@AGENTS.md
- Do not change the database schema.
- Do not change import paths that other packages use; re-export the names from `app/models/__init__.py`.
- Every module must have a docstring.
- Modules must not exceed 400 lines.
=
@specs/cli.md
The tool must exit with 0 on success and must not print anything then. On failure it must print one line to stderr.
With `--verbose` it must print every step. Colours must not be used when the output is no terminal.
@goal Write the tool after `specs/cli.md`.
@AGENTS.md
- Do not print to stdout in library code.
- Use colours for errors.
- Write tests for each exit code.
=
@CLAUDE.md
- Use the logger from `src/log.py`. Never use `console.log`.
- Handle every error. Never swallow exceptions.
- Throw typed errors; never throw strings.
- Return early. Never return `null` where `undefined` is meant.
- Cache nothing that depends on the user.
- Cache the configuration.
@goal Handle time-outs of the payment provider.
=
@AGENTS.md
- Backwards compatibility comes first.
- Do not remove public functions; deprecate them.
- Remove functions that have been deprecated for two releases.
- Keep the change small.
@goal Deprecate `connect()` in `src/net.py` and add `open_connection()`.
=
@goal Write the user guide in `docs/guide.md`.
@AGENTS.md
- Documentation must be in simple English.
- Do not document internal modules.
- Update `README.md` if the command line changes.
- Never document features that do not exist.
- Do not use screenshots.
- Do not create summary files such as `NOTES.md`.
=
@AGENTS.md
- If you change the schema, you must add a migration.
- Never add a migration by hand.
- Generate migrations with `make migration`.
- Test data must not be changed.
- Add test data to `tests/data/` for new cases.
@goal Add an index on `orders.created_at`.
"""


def orders_of(project: str) -> tuple[Imperative, ...]:
    """Documents are opened by `@NAME`; the rest of that line is text as well."""
    found: list[Imperative] = []
    for document in f"\n{project.strip()}".split("\n@")[1:]:
        source, _, text = document.partition("\n") if "\n" in document.split(" ")[0] else document.partition(" ")
        found += imperatives(source, text)
    return tuple(found)


HONEST = PROJECTS.split("\n=\n")


@pytest.mark.parametrize("project", HONEST, ids=range(len(HONEST)))
def test_an_honest_project_has_no_contradiction(project: str) -> None:
    assert [f"{one.kind}: {one.first.text} | {one.second.text}" for one in conflicts(orders_of(project))] == []


def test_most_lines_of_honest_projects_are_read_as_orders() -> None:
    assert len(HONEST) >= 40
    assert sum(len(orders_of(project)) for project in HONEST) > 200
