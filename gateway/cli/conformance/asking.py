"""Rules about questions: what is asked, closed candidate lists, skipping, and replies that are no answers."""

from __future__ import annotations

from gateway.cli.conformance.interaction import Interaction
from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.rule import NotApplicable, expect, rule
from handrail.common.v1 import decision_pb2, prompt_pb2

_SELECTED = "observation.clarification_reply.selected_candidate_id"
_SKIP = "observation.clarification_reply.skip"


async def _picking(kit: Kit) -> Interaction:
    begun = await kit.say("probe_pick colour=red")
    kind = begun.last.WhichOneof("outcome")
    expect(kind == "ask", f"an ambiguous colour was to be asked for; came {kind}")
    return begun


@rule(
    wants="A missing required argument is asked for, as a prompt about its task and slot.",
    source="docs/protocol.md#questions",
    why="A front end draws the control from the prompt alone, and the reply has to name what it answers.",
    needs=("probe_ask",),
)
async def missing_is_asked(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    expect(begun.last.WhichOneof("outcome") == "ask", f"came {kind_of(begun.last)}")
    prompt = begun.last.ask.prompt
    expect(prompt.question.strip(), "the question is empty")
    expect(prompt.required, "required is false for a required argument")
    expect(prompt.type == prompt_pb2.PROMPT_TYPE_INPUT, f"its type is {prompt_pb2.PromptType.Name(prompt.type)}")
    expect(prompt.task.task_id and prompt.task.slot == "subject", f"its target is {prompt.task}")


@rule(
    wants="The text of a reply answers the open question, and the request goes on.",
    source="docs/protocol.md#replies",
    why="A question that an answer does not close is asked for ever.",
    needs=("probe_ask",),
)
async def answer_is_taken(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    decided = await begun.decide(begun.reply("wind"))
    expect(decided.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER, f"the verdict is {decided.reply_verdict}")
    done = await begun.run()
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")
    expect("key=wind" in done.complete.answer.text, f"the answer is {done.complete.answer.text!r}")


@rule(
    wants="A required question cannot be skipped: INVALID_ARGUMENT, and it stays open.",
    source="docs/protocol.md#questions",
    why="A tool would be called without what it needs.",
    needs=("probe_ask",),
)
async def required_is_not_skipped(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    skipped = begun.decide_request(begun.reply(skip=True))
    await kit.refused(begun.send(skipped), "INVALID_ARGUMENT", "", _SKIP)
    decided = await begun.decide(begun.reply("wind"))
    expect(decided.WhichOneof("outcome") == "call_tool", f"after the refusal an answer gave {kind_of(decided)}")


@rule(
    wants="An ambiguous argument is offered as a closed list with opaque ids; the chosen member is what is meant.",
    source="docs/protocol.md#questions",
    why="A choice is made once; the Adapter must not look the words up again.",
    needs=("probe_pick",),
)
async def candidate_is_taken(kit: Kit) -> None:
    begun = await _picking(kit)
    options = begun.last.ask.prompt.options
    names = [option.display_name for option in options]
    expect(sorted(names) == ["dark red", "light red"], f"the options are {names}")
    expect(len({option.candidate_id for option in options} - {""}) == 2, "the candidate ids are not two")
    chosen = options[names.index("light red")]
    await begun.decide(begun.reply(selected_candidate_id=chosen.candidate_id))
    done = await begun.run()
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")
    expect("key=light red" in done.complete.answer.text, f"the answer is {done.complete.answer.text!r}")


@rule(
    wants="A candidate outside the stored list is INVALID_ARGUMENT, also one of another question.",
    source="docs/protocol.md#questions",
    why="A click that was made for another list would choose something that nobody saw.",
    needs=("probe_pick",),
)
async def candidate_outside_refused(kit: Kit) -> None:
    begun, other = await _picking(kit), await _picking(kit)
    foreign = other.last.ask.prompt.options[0].candidate_id
    mine = begun.last.ask.prompt.options[0].candidate_id
    expect(foreign != mine, "two questions have the same candidate ids")
    for wrong in ("cnd_never_offered", "dark red", foreign):
        request = begun.decide_request(begun.reply(selected_candidate_id=wrong))
        await kit.refused(begun.send(request), "INVALID_ARGUMENT", "", _SELECTED)
    decided = await begun.decide(begun.reply(selected_candidate_id=mine))
    expect(decided.WhichOneof("outcome") == "call_tool", f"the right one then gave {kind_of(decided)}")


@rule(
    wants="A question that is not required can be skipped, and the request goes on without it.",
    source="docs/protocol.md#questions",
    why="An optional detail must not stop a request.",
    needs=("probe_pick",),
)
async def optional_is_skipped(kit: Kit) -> None:
    begun = await _picking(kit)
    expect(not begun.last.ask.prompt.required, "required is true for an optional argument")
    await begun.decide(begun.reply(skip=True))
    done = await begun.run()
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")
    expect("key=none" in done.complete.answer.text, f"the answer is {done.complete.answer.text!r}")


@rule(
    wants="A reply that is a request of its own has the verdict new_request, no outcome, and changes no plan.",
    source="docs/protocol.md#replies",
    why="The Loop opens another interaction for it; the old plan must not carry it, too.",
    needs=("probe_ask", "probe_read"),
)
async def new_request_changes_nothing(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    version = begun.plan_version
    decided = await begun.decide(begun.reply("probe_read key=b"))
    if decided.reply_verdict == decision_pb2.REPLY_VERDICT_ANSWER:
        raise NotApplicable("the adapter takes every text for an answer")
    expect(decided.reply_verdict == decision_pb2.REPLY_VERDICT_NEW_REQUEST, f"the verdict is {decided.reply_verdict}")
    expect(decided.WhichOneof("outcome") is None, f"it carries {kind_of(decided)}")
    expect(decided.plan_version == version, f"the plan version went from {version} to {decided.plan_version}")
