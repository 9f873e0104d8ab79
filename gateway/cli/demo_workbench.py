"""The two scenes of the workbench in `make demo`: a workspace is uploaded, asked about, changed, edited from outside.

Listed in demo_scenes. The author of a change and its reviewer are two callers with different roles.
"""

from __future__ import annotations

from pathlib import Path

from gateway.cli import artifacts, workspace
from gateway.cli.client import HandrailClient
from gateway.cli.demo_stage import Dialogue, ExpectationFailed, Stage, receipts, tools_that
from gateway.cli.refusals import EXIT_OK
from handrail.adapter.v1.artifact_service_pb2 import DiffArtifactRequest, DiffArtifactResponse
from handrail.loop.v1.event_pb2 import ChosenBy
from handrail.loop.v1.workflow_loop_service_pb2 import PENDING_KIND_APPROVAL
from handrail_rpc.context import Caller
from handrail_rpc.errors import PermissionDenied

AUTHOR = Caller("author", roles=frozenset({"author"}))
REVIEWER = Caller("reviewer", roles=frozenset({"approver"}))

CHECKOUT = "services/checkout.yaml"
BILLING = "services/billing.yaml"
GUIDE = "docs/guide.md"

FILES = {
    "handrail-workbench.yaml": """\
types:
  service:
    files: "services/*.yaml"
    identity: /name
    schema: schemas/service.json
    references:
      - {path: /dependsOn/*, type: service}
documentation: ["docs/*.md"]
""",
    CHECKOUT: """\
# The till of the shop. Ask the payments team before you touch the port.
name: checkout
image: shop/checkout:1.4.0
replicas: 2   # two are enough at night
port: 8080
dependsOn: [billing]
""",
    BILLING: """\
name: billing
image: shop/billing:2.0.1
replicas: 1   # it keeps a ledger
port: 8081
""",
    "schemas/service.json": """\
{
  "type": "object",
  "required": ["name", "image", "port"],
  "properties": {
    "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
    "port": {"type": "integer"}
  }
}
""",
    GUIDE: """\
# Guide

## Retries

A failed call is retried three times, after 1, 2 and 4 seconds. A call that is not idempotent is never retried.

## Ports

Every service listens on one port.
""",
}


async def publishes_a_reviewed_change(stage: Stage) -> None:
    """Quotes with their source, a draft that its schema refuses, its revision, the diff, another's approval (I2)."""
    folder = _make_files(stage, "reviewed")
    async with stage.connected(AUTHOR) as author, stage.connected(REVIEWER) as reviewer:
        dialogue = await stage.open("The shop's services", "workbench", author)
        await _upload(stage, dialogue, folder)
        await _asks_the_guide(stage, dialogue)

        turn = await dialogue.say("set replicas to 30 in checkout and publish it", "clarification_required")
        chosen = [(each.action_id, each.chosen_by) for each in turn.of("decision_made") if each.action_id]
        stage.expect(
            tools_that(turn) == ["draft_change", "validate_change"]
            and chosen == [("revise_change", ChosenBy.CHOSEN_BY_RULE)],
            "the schema refuses the draft: exactly revise_change follows, by rule",
            chosen,
        )
        question = turn.last.clarification_required.prompt.question
        stage.expect("at most 10" in question, "the question says what the schema accepts", question)
        turn = await dialogue.say("4", "approval_required")
        stage.expect(tools_that(turn) == ["revise_change", "validate_change"], "revised and valid", tools_that(turn))
        shown = turn.last.approval_required
        diff = await _show_diff(stage, author, dialogue, shown.snapshot.artifact_id)
        stage.expect((diff.added_lines, diff.removed_lines) == (1, 1), "DiffArtifact: one line for another", diff)
        stage.expect(
            all(line in shown.input_preview.splitlines() for line in diff.unified_diff.splitlines()[3:]),
            "the same as the approval shows",
            shown.input_preview,
        )
        stage.say("the author tries to approve:")
        try:
            reason = (await dialogue.approve(shown.approval_id, shown.snapshot_digest)).ending
        except PermissionDenied as refusal:
            reason = refusal.reason
        stage.expect(reason == "ROLE_REQUIRED", "the author may not: ROLE_REQUIRED", reason)
        waiting = await reviewer.pending(PENDING_KIND_APPROVAL, dialogue.conversation_id)
        stage.expect(
            [each.approval for each in waiting] == [shown], "it waits in the inbox of the reviewer, as shown", waiting
        )
        stage.say("the reviewer approves:")
        turn = await dialogue.approve(shown.approval_id, shown.snapshot_digest, "completed", by=reviewer)
        stage.expect(len(receipts(turn, "publish_change")) == 1, "published once", tools_that(turn))
        published = await _text(author, dialogue, CHECKOUT)
        stage.expect(
            published == FILES[CHECKOUT].replace("replicas: 2 ", "replicas: 4 "),
            f"{CHECKOUT} differs in exactly that line, comments and order are as they were",
            published,
        )


async def keeps_an_outside_edit(stage: Stage) -> None:
    """A file that changes between the request for approval and the approval is not overwritten (E3, E5)."""
    folder = _make_files(stage, "edited")
    async with stage.connected(AUTHOR) as author, stage.connected(REVIEWER) as reviewer:
        dialogue = await stage.open("Edited meanwhile", "workbench", author)
        await _upload(stage, dialogue, folder)
        turn = await dialogue.say("set replicas to 3 in billing and publish it", "approval_required")
        old = turn.last.approval_required

        edited = FILES[BILLING].replace("billing:2.0.1", "billing:2.0.2")
        (folder / BILLING).write_text(edited, encoding="utf-8")
        stage.say(f"somebody edits {BILLING}; the folder is uploaded again:")
        await _upload(stage, dialogue, folder)
        stage.say("the reviewer approves what was shown before:")
        turn = await dialogue.approve(old.approval_id, old.snapshot_digest, "clarification_required", by=reviewer)
        stage.expect(
            "publish_change" not in tools_that(turn) and await _text(author, dialogue, BILLING) == edited,
            "approved, yet nothing is written: the file is as it was edited",
            tools_that(turn),
        )
        turn = await dialogue.say("yes", "approval_required")
        codes = [each.code for each in turn.of("policy_blocked")]
        stage.expect("approval_stale" in codes, "the old approval is blocked by policy: approval_stale", codes)
        new = turn.last.approval_required
        stage.expect(
            new.snapshot_digest != old.snapshot_digest and "billing:2.0.2" in new.input_preview,
            "a fresh approval, of the change to the file as it is now",
            new.input_preview,
        )
        stage.say("the reviewer approves what is shown now:")
        turn = await dialogue.approve(new.approval_id, new.snapshot_digest, "completed", by=reviewer)
        both = await _text(author, dialogue, BILLING)
        stage.expect(
            both == edited.replace("replicas: 1 ", "replicas: 3 "), "the file has the outside edit and the change", both
        )


async def _asks_the_guide(stage: Stage, dialogue: Dialogue) -> None:
    turn = await dialogue.say("what do the docs say about retries?", "completed")
    answer = turn.last.completed.answer
    quotes = [line.removeprefix("> ") for line in answer.text.splitlines() if line.startswith("> ")]
    stage.expect(
        quotes and all(quote in FILES[GUIDE] for quote in quotes), "the answer quotes the guide word for word", quotes
    )
    cited = [f"{each.path}#{each.anchor}" for each in answer.documentation_citations]
    stage.expect(cited == [f"{GUIDE}#retries"], f"and cites {', '.join(cited)}", cited)


def _make_files(stage: Stage, name: str) -> Path:
    """The workspace as a folder of the demo's own data directory."""
    folder = stage.data_dir / "demo-workspaces" / name
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


async def _upload(stage: Stage, dialogue: Dialogue, folder: Path) -> None:
    """As `handrail workspace upload` does it: the list of the files, and those that are new."""
    code = await workspace.upload(stage.console, dialogue.client, dialogue.conversation_id, folder)
    if code != EXIT_OK:
        raise ExpectationFailed(f"expected that {folder} is taken as the workspace, but it kept changing")


async def _show_diff(
    stage: Stage, client: HandrailClient, dialogue: Dialogue, artifact_id: str
) -> DiffArtifactResponse:
    request = DiffArtifactRequest(conversation_id=dialogue.conversation_id, artifact_id=artifact_id, context_lines=0)
    stage.say("DiffArtifact, without the lines around:")
    diff = await artifacts.read_diff(client, request)
    artifacts.print_diff(stage.console, diff.unified_diff)
    return diff


async def _text(client: HandrailClient, dialogue: Dialogue, path: str) -> str:
    return (await workspace.read_file(client, dialogue.conversation_id, path)).decode("utf-8")
