"""What was done, held against what was asked.

Words tell well that a file has to do with a task, and badly that it has not: a report speaks of symptoms, a fix is where the
cause is, and imports are not seen here. So a file is called a stranger only where the operator has named the place of the work,
or where the agent has set up a building site elsewhere and changed nothing that was asked.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from helmsman.oversee.drift.account import Deeds, Task
from helmsman.oversee.drift.commands import serves
from helmsman.oversee.drift.paths import above, folder, is_document, is_side_work, is_support, parts, relative, shown, stem, words
from helmsman.oversee.drift.subject import Subject, subject_of
from helmsman.oversee.drift.words import VAGUE, WordSet, concepts
from helmsman.records.session import Drift

STRANGERS_KEPT = 10
LEAST_STRANGERS = 3
"""One odd file is a helper, two are a helper and its test."""
STRANGERS_A_FRIEND = 4
"""So many for each related file: whoever changes what was asked may need the other files there, as imports would show."""


ASKS_FOR_DOCUMENTS = re.compile(
    r"\b(?:doc(?:s|ument\w*)?|readme|changelog|guides?|manuals?|tutorials?|\w+\.(?:md|rst|adoc))\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Kin:
    """What is related because of its company: files beside related ones, and of the same name."""

    folders: frozenset[str]
    roofs: frozenset[str]
    """Folders that related files lie in, those that hold the whole program included."""
    stems: WordSet
    subject: Subject

    def covers(self, path: str) -> bool:
        beside = not self.folders.isdisjoint(_tails(folder(path)))
        return beside or not self.stems.isdisjoint(stem(path)) or (_roof(path) in self.roofs and not self._is_foreign(path))

    def _is_foreign(self, path: str) -> bool:
        """Whether it is about something of its own, such as logging, that the task is not about."""
        own = concepts(words(path))
        return bool(own) and own.isdisjoint(self.subject.concepts)


def drift(task: Task, deeds: Deeds) -> Drift:
    """Compare. Strangers are named only where they outweigh the related changes; fewer pass for neighbours."""
    subject = subject_of(task)
    changed, read = _inside(deeds.changed, deeds.worktree), _inside(deeds.read, deeds.worktree)
    touched = dict.fromkeys((*changed, *read))
    kin = _kin(subject, list(filter(subject.covers, changed)), list(filter(subject.covers, read)))
    related = dict.fromkeys(path for path in touched if _is_related(path, subject, kin))
    judged = sum(path in related or _is_judged(path) for path in touched)
    friends = [path for path in changed if path in related]
    odd = [path for path in changed if path not in related and _is_judged(path)]
    strangers = odd if subject.placed else [] if friends else _building_site(odd, related, frozenset(read))
    beside = [path for path in changed if is_side_work(path)] if odd and not friends else []
    outweigh = len(strangers) >= STRANGERS_A_FRIEND * len(friends)
    commands = sum(serves(run, task.checks, subject) for run in dict.fromkeys(deeds.commands))
    return Drift(
        deeds=judged + len(beside) + commands,
        related=len(related) + commands,
        strangers=tuple(map(shown, (strangers + beside)[:STRANGERS_KEPT])) if strangers and outweigh else (),
        documents=tuple(map(shown, changed[:STRANGERS_KEPT])) if _only_documents(changed, task, subject) else (),
    )


def _only_documents(changed: Sequence[str], task: Task, subject: Subject) -> bool:
    """Whether nothing else was changed, tests fail, and no word of the task asks for documents."""
    unasked = task.failing and not any(map(ASKS_FOR_DOCUMENTS.search, (task.goal, *task.asked)))
    return bool(changed) and bool(unasked) and all(is_document(path) and not subject.covers(path) for path in changed)


def _inside(paths: Sequence[str], worktree: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (relative(path, worktree) for path in paths))))


def _kin(subject: Subject, changed: Sequence[str], read: Sequence[str]) -> Kin:
    named = [name for name in subject.named if "/" in name]
    folders = (folder(path).lower() for path in chain(changed, read, named))
    return Kin(
        folders=frozenset(filter(None, folders)),
        roofs=frozenset(map(_roof, chain(changed, read))),
        stems=frozenset(chain.from_iterable(map(stem, changed))),
        subject=subject,
    )


def _roof(path: str) -> str:
    return path.rpartition("/")[0]


def _tails(path: str) -> frozenset[str]:
    """Ways of naming a folder: a task seldom says where it stands itself."""
    of = parts(path)
    return frozenset("/".join(of[start:]) for start in range(len(of)))


def _is_judged(path: str) -> bool:
    """Whether its name says what it is about, and it is no mere support."""
    return not is_support(path) and bool(words(path) - VAGUE)


def _is_related(path: str, subject: Subject, kin: Kin) -> bool:
    """By itself, or by its company where it can be judged at all."""
    return subject.covers(path) or ((subject.broad or kin.covers(path)) and _is_judged(path))


def _building_site(odd: Sequence[str], related: Iterable[str], read: frozenset[str]) -> list[str]:
    """Files that the agent made without having read them, together in a folder that holds nothing related.

    Nothing related at all says that task and code have different words, not that the agent went astray.
    """
    made = [path for path in odd if path not in read]
    homes = frozenset(chain.from_iterable(map(above, related)))
    sites = Counter(place for path in made for place in above(path) if place not in homes)
    strange = {place for place, files in sites.items() if files >= LEAST_STRANGERS and words(place) - VAGUE}
    return [path for path in made if not strange.isdisjoint(above(path))] if homes else []
