"""The adapter for any program that takes a prompt and works in a folder until it ends: its command, a reader of its output."""

from collections.abc import Callable
from pathlib import Path

from helmsman.agents.command import command_line
from helmsman.errors import OperatorError
from helmsman.orient.allowance import agent_model
from helmsman.parsers.agent_actions import Called
from helmsman.parsers.agent_dialects import DialectReader, reader_of, without_prompt
from helmsman.records.agents import AgentKind, Capability
from helmsman.records.evidence import AgentCall
from helmsman.records.state import LoopState
from tasks.agents.adapting import IN_WORLD, ended_by, left_running, run_program, watch_for_pain, wording
from tasks.agents.call_folder import CallFolder, begin, finish, finished_call, set_aside
from tasks.agents.finding import find_program
from tasks.agents.meter import Meter, allowed_cost
from tasks.agents.order import Order, unreachable
from tasks.agents.tool_events import tool_called, tool_returned
from tasks.observers.journal import publish
from tasks.processes.environment import other_environment, ours
from tasks.processes.nesting import inner_depth
from tasks.processes.process import Ended
from tasks.repository.git import IDENTITY, commit_and_tree, has_identity
from tasks.sandbox.entering import Agent, Command, agent_box
from tasks.sandbox.taking import take_over_work
from tasks.session.pain_watch import Watch
from tasks.system.secrets import without_secrets
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import dirty_paths


def call_agent(order: Order) -> AgentCall:
    """Make the call that is due, or read back the one that was made. Raises WorldError, Cancelled, OperatorError.

    No session is kept of an agent that cannot go on with one, and Claude Code's credentials are nobody else's.
    """
    place, state = order.place, order.state
    kind, folder = kind_of(state), CallFolder(place.folder.call(state.due, state.attempt), state.uid)
    environment = environment_of(place, state)
    call = finished_call(folder) or _make_call(order, folder, environment)
    call = without_secrets(call)
    if call.outcome in IN_WORLD and _did_nothing(kind, call, order):
        set_aside(folder)
        raise unreachable(call)
    finish(folder, call)
    return call


def kind_of(state: LoopState) -> AgentKind:
    if state.agent is None:
        raise OperatorError("this loop's agent is Claude Code, which is not called by a template")
    return state.agent.kind


def environment_of(place: Workplace, state: LoopState) -> dict[str, str]:
    """What the program may see: what any may, its own variables, and those that the operator names."""
    identity = {} if has_identity(place.worktree) else IDENTITY
    seen = other_environment(ours(), kind_of(state).environment, state.config.agent.environment)
    return {**seen, **inner_depth(state.config), **identity}


def _did_nothing(kind: AgentKind, call: AgentCall, order: Order) -> bool:
    """Whether the call may be made again. Of a program that does not tell what it did, the tree tells."""
    if Capability.TOOLS in kind.tells:
        return call.tool_calls == 0
    worktree = order.place.worktree
    take_over_work(order.place, order.state)
    return commit_and_tree(worktree)[0] == order.start and not dirty_paths(worktree)


def _make_call(order: Order, folder: CallFolder, environment: dict[str, str]) -> AgentCall:
    place, state, prompt = order.place, order.state, "\n\n".join(filter(None, (order.system, order.prompt)))
    kind, config = kind_of(state), state.config
    command = command_line(
        kind,
        program=str(find_program(kind, config.agent, place.repository.top)),
        model=agent_model(state),
        further=config.agent.arguments,
        prompt=prompt,
        prompt_file=str(folder.prompt),
    )
    begin(folder, prompt, order.start, None, kind)
    hears = _hearing(order, environment)
    agent, stdin = Agent(Path(command[0]), is_claude=False), prompt.encode() if kind.prompt == "stdin" else b""
    stop = lambda: order.stop() or bool(hears.watch.pain or hears.meter.used_up)  # noqa: E731 - what it says is all
    with agent_box(config.box, place.worktree, place.folder, agent, Command(command, environment)) as boxed:
        ended = run_program(order, boxed, folder, stdin=stdin, idle=_idle(state, kind), on_line=hears.hear, stop=stop)
    call = _conclude(order, hears, ended)
    return call.model_copy(update={"final_text": without_prompt(call.final_text, prompt)}) if kind.output == "text" else call


def _idle(state: LoopState, kind: AgentKind) -> float | None:
    """Silence is no sign of a hang where a program speaks only at its end."""
    return state.config.claude.idle_timeout_minutes * 60 if Capability.STREAM in kind.tells else None


def _hearing(order: Order, environment: dict[str, str]) -> "Hearing":
    reader = reader_of(kind_of(order.state))
    watch = watch_for_pain(order, environment, lambda: reader.usage.tokens)
    return Hearing(reader, watch, wording(order), Meter(allowed_cost(order.state)))


class Hearing:
    """Hears what a program prints: folds it, tells of tool calls, and watches for what must end the session."""

    def __init__(self, reader: DialectReader, watch: Watch, wording: Callable[[str], str], meter: Meter) -> None:
        """Nothing has been said yet."""
        self.reader, self.watch, self.meter = reader, watch, meter
        self._wording = wording

    def hear(self, line: bytes) -> None:
        self.reader.hear(line)
        heard = list(self.reader.news())
        self.meter.read(self.reader.usage, goes_on=bool(heard))
        for news in heard:
            if isinstance(news, Called):
                publish(tool_called(news, self._wording))
                self.watch.announce(news)
            else:
                publish(tool_returned(news, self._wording))
                self.watch.conclude(news)


def _conclude(order: Order, hears: Hearing, ended: Ended) -> AgentCall:
    by = ended_by(ended, by_its_own_account=hears.reader.finished or bool(hears.watch.pain or hears.meter.used_up))
    call = hears.reader.conclude(exit_code=ended.exit_code, ended_by=by, stderr=ended.stderr, seconds=ended.seconds)
    call = hears.meter.conclude(call)
    return call.model_copy(update={"pain": hears.watch.pain, "survivors": left_running(order, ended)})
