"""`NamedToolPlanner`: the planner of a domain without a language of its own; a message names a tool and its arguments.

The default of Domain.planner, which calls `bound_to`. docs/tutorial.md describes the syntax for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adapter_service.sdk.named_calls import NotUnderstood, ToolNames, calls_of, drafts_of, pairs_of
from adapter_service.sdk.plan import (
    ArtifactFill,
    Fill,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    SlotPatch,
    TaskDraft,
    TaskSummary,
    TextFill,
)
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import Tool

MOST_TOLD_TOOLS = 40
_HELP = ("help", "?", "помощь", "справка")
_CANCEL = ("cancel", "stop", "отмена", "отмени", "стоп")
_OFFER = Text(
    "Name an action and its values, for example “{example}”. Values go in this order or as name=value; what is missing "
    "is asked for.\n{tools}",
    "Назовите действие и значения, например «{example}». Значения идут по порядку или как имя=значение; недостающее "
    "будет спрошено.\n{tools}",
)
_UNKNOWN = Text("No action is called that. ", "Такого действия нет. ")


@dataclass(frozen=True)
class NamedToolPlanner:
    """See the module's text. `tools` are given by the domain."""

    tools: tuple[Tool, ...] = ()
    _names: ToolNames = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the names once."""
        object.__setattr__(self, "_names", ToolNames(self.tools))

    def bound_to(self, tools: Sequence[Tool]) -> NamedToolPlanner:
        """The same planner for the tools of a domain."""
        return replace(self, tools=tuple(tools))

    def plan(self, request: PlanningRequest) -> Proposal:
        """See Planner."""
        text = request.text.strip()
        if request.begins_interaction:
            return self._request(request, text)
        if request.open_question is not None and _says(text, request.open_question.options):
            return Proposal(ReplyVerdict.ANSWER, answer_text=text)
        if text.casefold() in _CANCEL and calls_of(text, self._names) is None:
            return Proposal(ReplyVerdict.CANCEL)
        correction = self._correction(request, text)
        if correction is not None:
            return correction
        calls = calls_of(text, self._names)
        if calls is not None and (
            request.open_question is None or any(words or not tool.parameters for tool, words in calls)
        ):
            return self._request(request, text)
        if request.open_question is not None:
            return Proposal(ReplyVerdict.ANSWER, answer_text=text)
        return Proposal(ReplyVerdict.UNCLEAR)

    def _request(self, request: PlanningRequest, text: str) -> Proposal:
        calls = calls_of(text, self._names)
        if calls is None:
            if text.casefold() in _CANCEL:
                return Proposal(ReplyVerdict.CANCEL)
            told = self._offer(request)
            if text.casefold() not in _HELP:
                told = Text(_UNKNOWN.en + told.en, _UNKNOWN.ru + told.ru)
            return Proposal(ReplyVerdict.NEW_REQUEST, reply=told)
        try:
            return Proposal(ReplyVerdict.NEW_REQUEST, tasks=drafts_of(calls, request.memory))
        except NotUnderstood as problem:
            return Proposal(ReplyVerdict.NEW_REQUEST, reply=problem.reply)

    def _offer(self, request: PlanningRequest) -> Text:
        permitted = request.permitted_tools
        tools = [tool for tool in self.tools if permitted is None or tool.name in permitted][:MOST_TOLD_TOOLS]
        lines = [(_usage(tool), tool) for tool in tools]
        example = lines[0][0] if lines else ""
        return _OFFER.filled(
            example=Text(example, example),
            tools=Text(
                "\n".join(f"- {usage}: {_clause(tool.description.en)}" for usage, tool in lines),
                "\n".join(f"- {usage}: {_clause(tool.description.ru)}" for usage, tool in lines),
            ),
        )

    def _correction(self, request: PlanningRequest, text: str) -> Proposal | None:
        """What "name=value" changes in the current plan; None for any other text, or where nothing has that name."""
        pairs = pairs_of(text)
        if pairs is None:
            return None
        question = request.open_question
        if question is not None and list(pairs) == [question.slot]:
            return Proposal(ReplyVerdict.ANSWER, answer_text=pairs[question.slot])
        by_name = {tool.name: tool for tool in self.tools}
        patches: list[SlotPatch] = []
        revisions: dict[str, dict[str, Fill]] = {}
        for name, value in pairs.items():
            task = _holder(request.tasks, by_name, name, question.task_id if question is not None else "")
            if task is None:
                return None
            reviser = self._reviser(by_name[task.tool], name) if task.state == "done" else None
            kind = reviser.makes_kind if reviser is not None else ""
            artifact = next((known for known in request.memory.artifacts if known.kind == kind), None)
            if reviser is None or artifact is None:
                patches.append(SlotPatch(task.task_id, name, TextFill(value)))
                continue
            changed = revisions.setdefault(
                reviser.name, {reviser.revises: ArtifactFill(artifact_id=artifact.artifact_id)}
            )
            changed[name] = TextFill(value)
        drafts = tuple(TaskDraft(f"change_{tool}", tool, fills) for tool, fills in revisions.items())
        return Proposal(ReplyVerdict.CORRECTION, patches=tuple(patches), tasks=drafts)

    def _reviser(self, drafting: Tool, name: str) -> Tool | None:
        """The tool that changes this parameter's value in the artifact that a done task made: a new version of it."""
        return next(
            (
                tool
                for tool in self.tools
                if tool.revises and tool.makes_kind == drafting.makes_kind and name in tool.parameters
            ),
            None,
        )


def _holder(tasks: Sequence[TaskSummary], tools: dict[str, Tool], name: str, asked: str) -> TaskSummary | None:
    """The task whose parameter is meant: the asked one, else the newest; what a change has done stays done."""
    found = [
        task
        for task in tasks
        if task.tool in tools
        and name in tools[task.tool].parameters
        and (task.state == "open" or (task.state == "done" and not tools[task.tool].effect.needs_approval))
    ]
    return next((task for task in found if task.task_id == asked), found[-1] if found else None)


def _says(text: str, options: Sequence[str]) -> bool:
    return text.casefold() in (option.casefold() for option in options)


def _usage(tool: Tool) -> str:
    """ "lend_book book days [reader]": what a user writes; artifacts are found without being named."""
    names = [name for name in tool.parameters if name not in tool.artifacts]
    return " ".join([tool.name, *(name if tool.is_required(name) else f"[{name}]" for name in names)])


def _clause(text: str) -> str:
    return text.strip().rstrip(".")
