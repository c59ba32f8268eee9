"""The adapter for any program that takes a prompt and works in a folder until it exits: its command and its output reader."""

from pathlib import Path

from helmsman.agents import command_line
from helmsman.errors import OperatorError
from helmsman.orient.allowance import agent_model
from helmsman.parsers.agent_dialects import reader_of, without_prompt
from helmsman.records.agent import AgentCall
from helmsman.records.agents import AgentKind, Capability
from helmsman.records.state import LoopState
from tasks.agents.call import Listener, Order, allowed_cost, record_end, run_program
from tasks.agents.call_folder import begin, finished_call
from tasks.agents.catalogue import find_program
from tasks.repository.git import IDENTITY, commit_and_tree, has_identity
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import dirty_paths
from tasks.sandbox.enter import Agent, Command, agent_sandbox, import_agent_work
from tasks.system.environment import inner_depth, other_environment, own_environment


def call_agent(order: Order) -> AgentCall:
    """Make the due call, or read back the one that was made. Raises TransientError, Cancelled, OperatorError.

    These agents have no sessions to resume, and do not get Claude Code's credentials.
    """
    kind, folder, worktree = kind_of(order.state), order.folder, order.place.worktree

    def did_nothing(call: AgentCall) -> bool:
        if Capability.TOOLS in kind.capabilities:
            return call.tool_calls == 0
        import_agent_work(order.place, order.state)  # a program that does not report its actions is judged by the tree
        return commit_and_tree(worktree)[0] == order.start and not dirty_paths(worktree)

    call = finished_call(folder) or _make_call(order, environment_of(order.place, order.state))
    return record_end(folder, call, did_nothing)


def kind_of(state: LoopState) -> AgentKind:
    if state.agent is None:
        raise OperatorError("this loop's agent is Claude Code, which no template calls")
    return state.agent.kind


def environment_of(context: LoopContext, state: LoopState) -> dict[str, str]:
    """The program's environment: common variables, its own, and those that the operator names."""
    identity = {} if has_identity(context.worktree) else IDENTITY
    variables = other_environment(own_environment(), kind_of(state).environment, state.config.agent.environment)
    return {**variables, **inner_depth(state.config), **identity}


def _make_call(order: Order, environment: dict[str, str]) -> AgentCall:
    place, state, prompt = order.place, order.state, "\n\n".join(filter(None, (order.system, order.prompt)))
    kind, config, folder = kind_of(state), state.config, order.folder
    command = command_line(
        kind,
        program=str(find_program(kind, config.agent, place.repository.top)),
        model=agent_model(state),
        further=config.agent.arguments,
        prompt=prompt,
        prompt_file=str(folder.prompt),
    )
    begin(folder, prompt, order.start, None, kind)
    reader = reader_of(kind)
    listener = Listener(order, environment, reader, allowed_cost(state))

    def hear(line: bytes) -> None:
        reader.feed(line)
        events = list(reader.new_events())
        listener.meter.read(reader.usage, continues=bool(events))
        listener.handle(events)

    agent, stdin = Agent(Path(command[0]), is_claude=False), prompt.encode() if kind.prompt == "stdin" else b""
    stop = lambda: order.stop() or listener.must_end  # noqa: E731 - shorter than a function
    # no idle timeout for a program that prints only at its end
    idle = config.claude.idle_timeout_minutes * 60 if Capability.STREAM in kind.capabilities else None
    with agent_sandbox(config.isolation, place.worktree, place.folder, agent, Command(command, environment)) as boxed:
        ended = run_program(order, boxed, stdin=stdin, idle=idle, on_line=hear, stop=stop)
    ended_by = listener.ended_by(ended)
    call = reader.conclude(exit_code=ended.exit_code, ended_by=ended_by, stderr=ended.stderr, seconds=ended.seconds)
    final_text = without_prompt(call.final_text, prompt) if kind.output == "text" else call.final_text
    return listener.conclude(call, ended).model_copy(update={"final_text": final_text})
