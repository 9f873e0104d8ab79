"""Tools that change documents: draft, create, revise, undo, show, validate, publish (requirements I2, B5, E2).

Called by domain.py. A change is an artifact: the file's text before and after, and the operations that lead there. Only
publishing writes, after approval, and only if the file still has the hash that the draft was made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from adapter_service.domains.workbench import answers, change_answers, edits, questions
from adapter_service.domains.workbench.field_names import switch_below
from adapter_service.domains.workbench.field_resolvers import value_at
from adapter_service.domains.workbench.findings import Finding as WorkbenchFinding
from adapter_service.domains.workbench.mending import asked_slot, removed_path, valued_path
from adapter_service.domains.workbench.new_fields import placed_like_others
from adapter_service.domains.workbench.tool_errors import with_tool_errors
from adapter_service.domains.workbench.validate import validate_change as findings_of
from adapter_service.domains.workbench.workspace_view import OpenWorkspace, opened, view_of
from adapter_service.sdk import (
    NOT_EXECUTED,
    ApprovalRule,
    ArtifactKind,
    ArtifactOutput,
    BaseChanged,
    DiffForm,
    Effect,
    Finding,
    NotExecuted,
    Severity,
    Text,
    Tool,
    ToolContext,
    ToolError,
)

CHANGE: Final = "change"
Operation = Literal["set", "remove", "add"]

# A draft holds a document twice as text and twice as data, and an artifact has a limit.
MOST_DRAFTED_BYTES: Final = 1024 * 1024
_TOO_LARGE: Final = Text(
    f"The file is too large for a draft: at most {MOST_DRAFTED_BYTES} bytes are accepted.",
    f"Файл слишком велик для черновика: принимается не больше {MOST_DRAFTED_BYTES} байт.",
)
_UP_TO_DATE: Final = Text(
    "The change was not redone, so it cannot be published: the file is not the one it was made for.",
    "Изменение не повторено, поэтому его нельзя опубликовать: файл уже не тот, для которого оно сделано.",
)
_NOTHING: Final = Text("Nothing is left to change.", "Изменять больше нечего.")
_NO_VALUE: Final = Text(
    "A value is needed: a number, a text, true or false, or JSON.",
    "Нужно значение: число, текст, true или false, либо JSON.",
)


def _operation(operation: str, field: str, value: Any, content: Any) -> dict[str, Any]:
    there = value_at(content, field) if field.startswith("/") else None
    if operation == "remove" and isinstance(there, dict) and isinstance(value, str) and value in there:
        # "remove the ports of web": of an object it is a key that goes.
        return {"op": "remove", "path": f"{field}/{value.replace('~', '~0').replace('/', '~1')}"}
    if operation == "remove":
        return {"op": "remove", "path": field} | ({} if value is None else {"value": value})
    if value is None:
        raise ToolError("tool_input_invalid", _NO_VALUE, source_code="value_missing", correctable=True, slot="value")
    if operation == "set" and isinstance(value, bool):
        switch = switch_below(there)
        field = f"{field}/{switch}" if switch else field
    return {"op": operation, "path": field, "value": value}


@with_tool_errors
def draft_change(
    context: ToolContext, document: str, *, operation: Operation = "set", field: str, value: Any
) -> dict[str, Any]:
    """A change of one field of a document, as a draft: nothing is written. `value` is null for a removal.

    The operation stands before the field, for it decides which fields there are to choose from.
    """
    workspace = opened(context.workspace)
    known = workspace.view.find(document)
    if known is not None and workspace.files.files[known.path].size_bytes > MOST_DRAFTED_BYTES:
        raise ToolError("tool_input_invalid", _TOO_LARGE, source_code="too_large")
    content = workspace.view.read_document(document)["content"]
    return edits.draft_change(workspace.view, document, [_operation(operation, field, value, content)])


@with_tool_errors
def draft_document(
    context: ToolContext, document_type: str, identity: str, content: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A new document of a type, as a draft: nothing is written."""
    view = view_of(context.workspace)
    return edits.draft_new_document(
        view, document_type, identity, placed_like_others(view, document_type, content or {})
    )


@with_tool_errors
def revise_change(
    change: dict[str, Any],
    context: ToolContext,
    operation: Operation = "set",
    field: str | None = None,
    value: Any = None,
    rebase: bool | None = None,
) -> dict[str, Any]:
    """Another version of a draft: one more operation, or the same ones on the file as it is now (`rebase`).

    Without a field the value is for what validation found wrong, else for what was changed last.
    """
    view = view_of(context.workspace)
    if rebase is False:
        raise ToolError("tool_input_invalid", _UP_TO_DATE, source_code="base_changed")
    if rebase:
        change = edits.rebase_change(view, change)
        if field is None and value is None:
            return change
    path = field if field is not None else _meant_path(change, context, operation)
    return edits.revise_change(change, [_operation(operation, path, value, change["content"])], view)


def _meant_path(change: Mapping[str, Any], context: ToolContext, operation: str) -> str:
    view = view_of(context.workspace)
    for found in findings_of(view, dict(change)):
        removes = operation == "remove"
        path = removed_path(found, change["changed_paths"]) if removes else valued_path(found)
        if found["severity"] == "error" and path:
            return path
    if change["operations"]:
        return str(change["operations"][-1]["path"])
    question = questions.FIELD.question
    assert question is not None  # declared with one
    raise ToolError("tool_input_invalid", question, source_code="field_missing", correctable=True, slot="field")


@with_tool_errors
def undo_change(change: dict[str, Any], context: ToolContext, everything: bool = False) -> dict[str, Any]:
    """The draft without its last operation, or without any; nothing that was published is taken back."""
    view = view_of(context.workspace)
    kept = [] if everything else change["operations"][:-1]
    if change["base_sha256"] and kept:
        return edits.draft_change(view, change["key"], kept)
    undone = {
        "text": change["base_text"],
        "content": change["base_content"],
        "operations": [],
        "changed_paths": [],
        "unified_diff": "",
    }
    return {**change, **undone}


def show_change(change: dict[str, Any], published: bool = False) -> dict[str, Any]:
    """The draft as a unified diff against the file that it was made from, and whether it has been published."""
    return {name: change[name] for name in ("key", "path", "unified_diff", "base_sha256")} | {"published": published}


@with_tool_errors
def validate_change(change: dict[str, Any], context: ToolContext) -> list[Finding]:
    """Form, schema, references and base of a draft, as findings of the SDK."""
    workspace = opened(context.workspace)
    found = [_finding(each) for each in findings_of(workspace.view, change)]
    now = base_now(change, workspace)
    if now != change["base_sha256"]:
        found = [each for each in found if each.code != "base_changed"]
        found.insert(0, _base_changed(change, now))
    return found


def _finding(found: WorkbenchFinding) -> Finding:
    # A draft without a change has nothing to publish: no approval is asked for it.
    error = found["severity"] == "error" or found["code"] == "no_change"
    return Finding(
        severity=Severity.ERROR if error else Severity.WARNING,
        path=found["path"],
        slot=asked_slot(found) if found["severity"] == "error" else "",
        code=found["code"],
        message=Text(found["message_en"], found["message_ru"]),
    )


def _base_changed(change: Mapping[str, Any], now: str) -> Finding:
    path = change["path"]
    message = (
        Text(
            f"The file {path} has been changed since this draft was made.",
            f"Файл {path} изменился с тех пор, как сделан этот черновик.",
        )
        if now and change["base_sha256"]
        else Text(
            f"The file {path} is not there any more." if change["base_sha256"] else f"There is a file {path} now.",
            f"Файла {path} больше нет." if change["base_sha256"] else f"Файл {path} уже существует.",
        )
    )
    mendable = bool(now and change["base_sha256"])
    return Finding(Severity.ERROR, path, "rebase" if mendable else "", "base_changed", message)


def base_now(change: Mapping[str, Any], workspace: Any) -> str:
    """The hash that the change's file has in this state of the workspace; "" where there is no such file."""
    file = opened(workspace).files.files.get(change["path"])
    return file.sha256 if file is not None else ""


def publish_change(change: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Write the draft's text in place of the file, atomically, if the file is still the one that was approved.

    Raises BaseChanged where it has another hash than the approved one or than the draft's base: nothing is written.
    """
    workspace = opened(context.workspace)
    data = edits.change_bytes(change)
    if change["text"] == change["base_text"]:
        raise ToolError("tool_input_invalid", _NOTHING, source_code="nothing_changed")
    if context.base_sha256 != change["base_sha256"]:
        raise BaseChanged
    written = workspace.files.replace(change["path"], data, change["base_sha256"])
    return _published(change, written, workspace)


def _published(change: Mapping[str, Any], sha256: str, workspace: OpenWorkspace) -> dict[str, Any]:
    told = {name: change[name] for name in ("key", "type", "identity", "path")}
    return told | {"sha256": sha256, "uploaded": workspace.files.uploaded}


def find_published(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any] | NotExecuted | None:
    """After a crash: the file has the new hash (published), the old one (not executed), or another (nobody can
    tell).
    """
    change = arguments["change"]
    now = base_now(change, context.workspace)
    wanted = edits.content_sha256(edits.change_bytes(change))
    if now == wanted:
        return _published(change, now, opened(context.workspace))
    return NOT_EXECUTED if now == change["base_sha256"] else None


def _diff_form(change: Mapping[str, Any]) -> DiffForm:
    return DiffForm(change["text"], change["content"], change["path"])


def _base_form(change: Mapping[str, Any]) -> DiffForm | None:
    return DiffForm(change["base_text"], change["base_content"], change["path"]) if change["base_sha256"] else None


def _publishing_target(arguments: Mapping[str, Any]) -> str:
    return str(arguments["change"]["path"])


def _publishing_base(arguments: Mapping[str, Any], workspace: Any) -> str:
    return base_now(arguments["change"], workspace)


CHANGE_KIND: Final = ArtifactKind(
    name=CHANGE,
    title=Text("change", "изменение"),
    validate_tool="validate_change",
    revise_tool="revise_change",
    diff_form=_diff_form,
    base_form=_base_form,
)
_OUTPUT: Final = ArtifactOutput(
    kind=CHANGE,
    media_type="application/json",
    title=lambda change: str(change["key"]),
    content=lambda change: change,
    sources=lambda change: (f"{change['path']} sha256 {change['base_sha256']}",) if change["base_sha256"] else (),
    data_scope=lambda change: str(change["path"]),
)
CHANGE_TOOLS: Final = (
    Tool(
        name="draft_change",
        function=draft_change,
        effect=Effect.DRAFT,
        title=Text("Draft change", "Черновик изменения"),
        description=Text(
            "Sets, adds or removes a field of a document, as a draft; comments and formatting are kept.",
            "Задаёт, добавляет или удаляет поле документа в черновике; комментарии и оформление сохраняются.",
        ),
        slots={"document": questions.DOCUMENT, "field": questions.FIELD, "value": questions.NEW_VALUE},
        makes=_OUTPUT,
        say=change_answers.say_draft,
        cites=change_answers.cite_change,
        referents=change_answers.refer_change,
        view=change_answers.view_change,
    ),
    Tool(
        name="draft_document",
        function=draft_document,
        effect=Effect.DRAFT,
        title=Text("Draft new document", "Черновик нового документа"),
        description=Text("A new document of a known type, as a draft.", "Новый документ известного вида, в черновике."),
        slots={"document_type": questions.NEW_TYPE, "identity": questions.IDENTITY},
        makes=_OUTPUT,
        say=change_answers.say_draft,
        cites=change_answers.cite_change,
        referents=change_answers.refer_change,
        view=change_answers.view_change,
    ),
    Tool(
        name="revise_change",
        function=revise_change,
        effect=Effect.DRAFT,
        title=Text("Revise change", "Исправление изменения"),
        description=Text("A new version of a draft.", "Новая версия черновика."),
        slots={"field": questions.FIELD, "value": questions.VALUE, "rebase": questions.REBASE},
        artifacts={"change": CHANGE},
        makes=_OUTPUT,
        revises="change",
        say=change_answers.say_draft,
        cites=change_answers.cite_change,
        referents=change_answers.refer_change,
        view=change_answers.view_change,
    ),
    Tool(
        name="undo_change",
        function=undo_change,
        effect=Effect.DRAFT,
        title=Text("Undo change", "Отмена правки"),
        description=Text(
            "The draft without its last edit, or without any.", "Черновик без последней правки или без всех."
        ),
        artifacts={"change": CHANGE},
        makes=_OUTPUT,
        revises="change",
        say=change_answers.say_undone,
        cites=change_answers.cite_change,
        referents=change_answers.refer_change,
        view=change_answers.view_change,
    ),
    Tool(
        name="show_change",
        function=show_change,
        effect=Effect.READ,
        title=Text("Show change", "Показ изменения"),
        description=Text("The draft as a diff.", "Черновик в виде различий."),
        artifacts={"change": CHANGE},
        say=change_answers.say_diff,
        view=change_answers.view_change,
    ),
    Tool(
        name="validate_change",
        function=validate_change,
        effect=Effect.READ,
        title=Text("Validate change", "Проверка изменения"),
        description=Text(
            "Checks a draft: form, schema, references, and that its file is unchanged.",
            "Проверяет черновик: запись, схему, ссылки и что его файл не изменился.",
        ),
        artifacts={"change": CHANGE},
        validates="change",
        reads=("workspace",),
        uses_workspace=True,
        say=change_answers.say_validation,
    ),
    Tool(
        name="publish_change",
        function=publish_change,
        effect=Effect.CHANGE,
        title=Text("Publish change", "Публикация изменения"),
        description=Text(
            "Writes a validated draft to its file, once per approval, if the file is unchanged.",
            "Записывает проверенный черновик в его файл, один раз на одобрение, если файл не изменился.",
        ),
        idempotent=True,
        approval=ApprovalRule(role="approver"),
        artifacts={"change": CHANGE},
        say=change_answers.say_published,
        cites=change_answers.cite_change,
        referents=change_answers.refer_change,
        view=answers.seen,
        target=_publishing_target,
        base=_publishing_base,
        preview=change_answers.preview_change,
        probe=find_published,
    ),
)
