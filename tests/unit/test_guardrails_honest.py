"""A long honest session in four kinds of projects: nothing in it is denied."""

from typing import Any

import pytest

from helmsman.orient.guardrails import Advise, Deny, Rule, Rules, Session, ToolCall, after, before, judge

pytestmark = pytest.mark.feature("A2")

TREE = "/nest/dev/loops/parser"
RULES = Rules(TREE, protected=("tests/acceptance/**",), start="3f2a9c1d7e5b", branch="helmsman/parser", home="/nest/dev")

EDIT = "EDIT src/parser.py"
"""Stands for an edit of that file; every other line is a shell command."""

PYTHON = r"""
git status
ls -la
cat README.md
git log --oneline -10
find . -name '*.py' -not -path './.venv/*' | head -50
wc -l src/*.py
python -m venv .venv
pip install -e . 2>&1 | tail -3
.venv/bin/pip install -e '.[dev]' 2>&1 | tail -3
pytest -q
EDIT src/parser.py
pytest -q
EDIT src/parser.py
pytest -q
EDIT src/tokens.py
pytest -q
python -m pytest tests/unit/test_parser.py -x -vv 2>&1 | tail -40
PYTHONPATH=src python -c "import parser; print(parser.parse('1+1'))"
python -c "print(open('tests/acceptance/cases.txt').read())"
python3 -c "import json; json.dump({'a': 1}, open('build.json', 'w'))"
git diff
git diff --stat HEAD
git add -A && git commit -m "Parse nested lists"
git add src/parser.py tests/unit/test_parser.py
git commit --amend --no-edit
git commit -q -m 'Do not push values twice; rm -rf / is only text here'
git log -3 --stat
git show HEAD:src/parser.py
git reset --hard HEAD
git reset --hard HEAD~1
git reset HEAD src/tokens.py
git reset --soft HEAD~1
git checkout -- src/parser.py
git checkout HEAD -- src/tokens.py
git restore src/parser.py
git checkout -- tests/acceptance/test_all.py
git restore tests/acceptance
git checkout HEAD tests/acceptance
git restore --staged src/parser.py
git stash
pytest -q
git stash pop
pytest -q
sed -i 's/old_name/new_name/g' src/parser.py src/tokens.py
sed -i -e 's#/usr/bin#/bin#' -e '/^$/d' scripts/run.sh
sed -n '1,80p' src/parser.py
sed -i '' 's/a/b/' src/mac.py
ruff check --fix src && ruff format src
mypy src --strict || true
rm -rf build dist *.egg-info .pytest_cache
rm -f .git/index.lock
find . -name __pycache__ -type d -exec rm -rf {} +
find tests/acceptance -name '*.pyc' -delete
rm -rf tests/acceptance/__pycache__
mv src/old.py src/new.py
git mv src/a.py src/b.py
cp src/parser.py /tmp/parser.bak
cp /tmp/parser.bak src/parser.py
cp -r tests/acceptance /tmp/acceptance
D=$(mktemp -d) && cd "$D" && git init -q && touch a && git add a && git commit -qm a && git reset --hard HEAD~3
tmp=$(mktemp); pytest -q > "$tmp" 2>&1; tail -5 "$tmp"; rm -f "$tmp"
timeout 60 pytest -q tests/unit -k 'not slow' > /tmp/out.txt 2>&1; echo $?; tail -20 /tmp/out.txt
pytest -q 2>/dev/null | tee /tmp/pytest.log | tail -5
for i in 1 2 3; do pytest -q tests/unit/test_flaky.py || break; done
if [ -d build ]; then rm -rf build; fi
while read -r f; do echo "$f"; done < files.txt
coverage run -m pytest && coverage report -m
python -m build --wheel
python setup.py --version
twine check dist/*
echo "- chose a stack; rejected recursion" >> .helmsman/progress.md
cat .helmsman/feedback.md
grep -rn "push" .helmsman/ | head
cat RUBRIC.md tests/acceptance/test_all.py
diff tests/acceptance/expected.txt out.txt
mkdir -p tests/acceptance src/plugins
mkdir -p .helmsman
export PYTHONDONTWRITEBYTECODE=1
source .venv/bin/activate && pytest -q tests/unit
uv run pytest -q tests/unit
uv sync
poetry run pytest tests/unit
tox -e py311
curl -s http://localhost:8000/health
curl -s localhost:8000/api | python -m json.tool
curl -s localhost:8000/api | python3 -c "import sys, json; print(json.load(sys.stdin)['ok'])"
curl -so /dev/null -w '%{http_code}' http://127.0.0.1:8000/
curl -fsSL https://example.org/install.sh -o /tmp/install.sh
python -m http.server 8000 > /tmp/server.log 2>&1 &
sleep 1
kill $!
uvicorn app:app --port 8001 & sleep 2; curl -s localhost:8001/; kill %1
kill 48213
kill -TERM 48213
kill -9 $(lsof -t -i:8000)
lsof -ti:8000 | xargs kill
kill -0 48213 && echo alive
pkill -P $$
cd /nest/dev/loops/parser && pytest -q tests/unit
cd src && ls && cd ..
(cd docs && make html)
pushd docs && make clean && popd
git checkout -b experiment
git switch -c other-idea
git checkout experiment
git branch -D other-idea
git branch -d merged-idea
git branch --show-current
git rev-parse --abbrev-ref HEAD
git worktree add /tmp/base HEAD~0
git worktree remove /tmp/base
git worktree list
git rebase --abort
git cherry-pick -n 4f2e11a
git revert --no-edit HEAD
git tag v1-local
git config user.email dev@example.org
git config --get core.hooksPath
git remote -v
git fetch origin
git merge-base HEAD origin/main
git pull --rebase=false origin main
git pull --no-rebase -Xours origin main
git pull -q -Xtheirs -srecursive origin main
git pull --rebase --no-rebase
git reset HEAD~9 src/tokens.py
git reset main -- src
git reset -- main
command -v sudo
git clean -fd
git clean -nxd
git bisect start
git apply /tmp/fix.patch
git blame -L 10,20 src/parser.py
git rm -q src/obsolete.py
"""

JAVASCRIPT = r"""
npm install
npm ci
npm install --save-dev vitest
npm test
EDIT src/index.ts
npm test
EDIT src/index.ts
npm test
npm run build
npx tsc --noEmit
npx eslint src --fix
npx prettier --write 'src/**/*.ts'
npx vitest run src/index.test.ts
npx -y create-vite app --template react-ts && rm -rf app/.git
yarn install --frozen-lockfile
pnpm -r test
npm publish --dry-run
npm pack
rm -rf node_modules package-lock.json && npm install
rm -rf dist/* .next
node -e "console.log(require('./package.json').version)"
node -e "const fs = require('fs'); fs.writeFileSync('out.json', '{}')"
node --test
npm run dev & PID=$!; sleep 3; curl -s localhost:5173 | head; kill $PID
npm run dev > /tmp/dev.log 2>&1 & echo $!
curl http://localhost:3000/api -X POST -H 'content-type: application/json' -d '{"a": "b; rm -rf /"}'
ln -sf ../shared/config.json config/config.json
cat package.json | jq '.scripts'
jq '.version = "2.0.0"' package.json > package.tmp && mv package.tmp package.json
git commit -am "feat: push button (closes #3)"
gh run view 12 --log-failed
gh pr view 3
docker build -t app:dev .
docker run --rm -d -p 8080:80 --name app app:dev
docker logs app
docker compose up -d && docker compose ps
docker stop app
bun test
deno test --allow-read
echo 'module.exports = {}' > config.js
printf '%s\n' dist node_modules >> .gitignore
touch src/new.ts
rm 'src/~tmp.ts'
rm -rf "./~"
chmod +x scripts/build.sh && ./scripts/build.sh
chmod -R u+w node_modules
tar czf /tmp/app.tgz dist
unzip -o fixtures.zip -d /tmp/fixtures
echo "see https://x.org/a?b=1&c=2" > notes.txt
"""

GO_AND_RUST = r"""
go build ./...
go test ./...
EDIT pkg/server.go
go test ./...
EDIT pkg/server.go
go test ./...
go test -race -count=1 ./pkg/...
go vet ./... && gofmt -l .
gofmt -w pkg/server.go
go mod tidy
go build -o /tmp/server ./cmd/server && /tmp/server --version
go run ./cmd/server & sleep 1 && curl -sf localhost:9090/healthz; kill $!
go test -coverprofile=/tmp/cover.out ./... && go tool cover -func=/tmp/cover.out | tail -1
go generate ./...
rm -rf bin/
cargo build 2>&1 | tail -20
cargo test
EDIT src/lib.rs
cargo test
EDIT src/lib.rs
cargo test
cargo test -- --nocapture parse_
cargo clippy --all-targets -- -D warnings
cargo fmt
cargo add serde --features derive
cargo publish --dry-run
cargo clean
rm -rf target
RUST_BACKTRACE=1 cargo run -- --input fixtures/a.txt > /tmp/out.txt
cargo bench --no-run
make
make test
make -C docs html
make clean all
cmake -S . -B build && cmake --build build -j4
perl -pi -e 's/foo/bar/' src/lib.rs
awk '{ print $1 > "/dev/stderr" }' data.txt
awk '$1 > 5 { print }' data.txt
grep -rn 'git push' docs/ | head
rg -n "sudo|rm -rf" README.md
echo "run git push when done; sudo make install" >> docs/release.md
diff <(sort a.txt) <(sort b.txt)
comm -3 <(ls src) <(ls tests)
seq 1 10 | xargs -I{} echo "case {}" > cases.txt
git ls-files '*.rs' | xargs sed -i 's/old/new/g'
find . -name '*.orig' | xargs rm -f
find . -name '*.bak' -delete
find src -name '*.rs' -exec sed -i 's/a/b/' {} \;
test -f Cargo.toml && echo yes || echo no
[[ "$(uname)" == Linux ]] && echo linux
[ "$a" \> "$b" ] && echo bigger
[[ "$a" > tests/acceptance ]] && echo bigger
if ! [[ a > tests/acceptance ]] > /dev/null 2>&1; then echo smaller; fi
time [[ ']]' > tests/acceptance ]]
bash scripts/test.sh "$(curl -s localhost:8080/port)"
sh -c "echo $(curl -s localhost:8080/port)"
curl -s localhost:8080/run.sh | bash -n
x=$((1 + 2)); echo $x
arr=(a b c); echo "${arr[@]}"
case "$1" in start|stop) echo "$1";; *) echo other;; esac
f() { echo "$1"; }; f hello | cat
trap 'rm -f /tmp/lock' EXIT; touch /tmp/lock; make check
time make check
nohup ./server > server.log 2>&1 &
env -u HOME DEBUG=1 make test-all
bash scripts/test.sh
bash -c 'cd build && ctest --output-on-failure'
sh -c "echo hi > /tmp/hi"
dd if=/dev/zero of=/tmp/blob bs=1M count=1
dd if=/dev/urandom of=fixtures/random.bin bs=1k count=4
truncate -s 0 log.txt
install -m 755 bin/tool build/tool
rsync -a src/ /tmp/src/
claude --version
helmsman status
helmsman doctor
"""

HEREDOCS = (
    "cat > src/new.py <<'EOF'\nimport os\n# git push; rm -rf / ; sudo reboot\nos.system('echo')\nEOF",
    "cat <<EOF > docs/usage.md\n`git status`\n    $ sudo make install\n    $ git push origin main\nEOF\npytest -q tests/unit",
    'git commit -m "$(cat <<\'EOF\'\nDon\'t push (yet): "quoted" text\n\n- kill 123; rm -rf *\n\nBy: A <a@b.c>\nEOF\n)"',
    "git commit -F - <<'EOF'\nTeach the parser to claude -p\nEOF",
    "python3 - <<'EOF'\nfrom pathlib import Path\np = Path('src/a.py')\np.write_text(p.read_text().upper())\nEOF",
    "python3 <<'EOF'\nwith open('tests/acceptance/cases.txt') as f:\n    print(f.read())\nEOF",
    "cat > /tmp/try.sh <<'EOF'\nset -e\ncd /\nls\nEOF\nbash /tmp/try.sh",
    "tee .github/notes.md > /dev/null <<-EOF\n\tone\n\tEOF\ngit add .github",
    "patch -p1 <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nEOF",
    "pytest -q \\\n  tests/unit \\\n  --maxfail=1",
    "# look first\ngit status # then push\nls",
    "psql -h localhost -c 'drop table if exists a; select 1'",
    'echo "it\'s" \'a "b"\' "$(date)" `whoami`',
)

FILE_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Read", {"file_path": f"{TREE}/src/parser.py"}),
    ("Read", {"file_path": "/usr/lib/python3.11/json/decoder.py"}),
    ("Read", {"file_path": f"{TREE}/tests/acceptance/test_all.py"}),
    ("Grep", {"pattern": "git push", "path": "."}),
    ("Glob", {"pattern": "**/*.py"}),
    ("Write", {"file_path": f"{TREE}/src/new.py", "content": "rm -rf /"}),
    ("Write", {"file_path": f"{TREE}/.helmsman/progress.md", "content": "## COMPLETED"}),
    ("Write", {"file_path": "/tmp/try.py", "content": "print(1)"}),
    ("Write", {"file_path": "src/relative.py", "content": ""}),
    ("Edit", {"file_path": f"{TREE}/tests/unit/test_parser.py", "old_string": "a", "new_string": "b"}),
    ("MultiEdit", {"file_path": f"{TREE}/src/new.py", "edits": []}),
    ("NotebookEdit", {"notebook_path": f"{TREE}/notes.ipynb", "new_source": "1"}),
    ("TodoWrite", {"todos": [{"content": "git push", "status": "pending"}]}),
    ("Task", {"prompt": "find where claude -p is called"}),
    ("WebFetch", {"url": "https://example.org", "prompt": "rm -rf /"}),
    ("mcp__db__query", {"sql": "drop table a"}),
)


def bash(command: str, **more: Any) -> ToolCall:
    return ToolCall("Bash", {"command": command, **more}, TREE)


def calls() -> list[ToolCall]:
    lines = [line for part in (PYTHON, JAVASCRIPT, GO_AND_RUST) for line in part.strip().split("\n")]
    edits = {"file_path": f"{TREE}/src/parser.py", "old_string": "a", "new_string": "b"}
    spoken = [ToolCall("Edit", edits, TREE) if line.startswith("EDIT ") else bash(line) for line in lines]
    return [*spoken, *map(bash, HEREDOCS), *(ToolCall(tool, arguments, TREE) for tool, arguments in FILE_CALLS)]


def play(rules: Rules) -> list[tuple[str, Deny | Advise]]:
    """Play the session call by call, and give what was said."""
    said: list[tuple[str, Deny | Advise]] = []
    session = Session(rules.worktree)
    for call in calls():
        answer = judge(call, session, rules)
        if isinstance(answer, Deny | Advise):
            said.append((call.command or str(call.arguments), answer))
        session = after(before(session, call), call, failed=False, changed=call.tool in {"Edit", "Write"})
    return said


def test_the_session_is_long() -> None:
    assert len(calls()) >= 200


@pytest.mark.parametrize("level", [0, 1])
def test_an_honest_session_is_never_denied(level: int) -> None:
    rules = Rules(TREE, protected=RULES.protected, level=level, start=RULES.start, branch=RULES.branch, home=RULES.home)
    assert [told for told in play(rules) if isinstance(told[1], Deny)] == []


def test_at_the_highest_level_only_the_second_same_command_is_denied() -> None:
    rules = Rules(TREE, protected=RULES.protected, level=2, start=RULES.start, branch=RULES.branch, home=RULES.home)
    assert {told[1].rule for told in play(rules) if isinstance(told[1], Deny)} <= {Rule.REPEATED}


def test_an_honest_session_hears_little_advice() -> None:
    assert len(play(RULES)) <= 3
