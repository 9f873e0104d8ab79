"""Plans as data: order, dependencies, scoped patches, storing (requirements A7, C8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.plan import (
    Origin,
    Plan,
    Question,
    RevisionOffer,
    SlotState,
    Task,
    TaskSlot,
    TaskState,
)
from adapter_service.sdk import ArtifactFill, Fill, ResultFill, Text, TextFill, ValueFill
from adapter_service.storage.plan_codec import decode_plan, encode_plan


def slots(**fills: Fill) -> dict[str, TaskSlot]:
    return {name: TaskSlot(name, fill) for name, fill in fills.items()}


def chain() -> Plan:
    """b needs a's result, c needs b's artifact, d stands alone; all done."""
    a = Task("a", "look", slots(place=TextFill("x")), state=TaskState.DONE, tool_call_id="call_a")
    b = Task("b", "draft", slots(place=ResultFill("a", "id")), state=TaskState.DONE, tool_call_id="call_b")
    c = Task("c", "post", slots(note=ArtifactFill(task="b")), state=TaskState.DONE, tool_call_id="call_c")
    d = Task("d", "look", slots(place=TextFill("y")), state=TaskState.DONE, tool_call_id="call_d")
    return Plan(tasks=(a, b, c, d))


def test_a_patch_opens_its_task_and_all_dependents_and_nothing_else() -> None:
    before = chain()
    after = before.patched("a", "place", TextFill("z"))
    assert [task.state for task in after.tasks] == [TaskState.OPEN, TaskState.OPEN, TaskState.OPEN, TaskState.DONE]
    assert after.task("d") is before.task("d")
    assert after.task("a").slots["place"].fill == TextFill("z")
    assert [after.task(name).tool_call_id for name in "abcd"] == ["", "", "", "call_d"]
    middle = before.patched("b", "place", ValueFill(1))
    assert [task.state for task in middle.tasks] == [TaskState.DONE, TaskState.OPEN, TaskState.OPEN, TaskState.DONE]
    with pytest.raises(KeyError):
        before.patched("x", "place", None)


def test_dependents_keep_what_the_user_said_and_lose_what_came_from_results() -> None:
    dependent = Task("b", "t", slots(one=ResultFill("a", ""), two=TextFill("y")), state=TaskState.DONE)
    for name in ("one", "two"):
        dependent = dependent.with_slot(dependent.slots[name].resolved(1, "1", "x"))
    after = Plan(tasks=(chain().tasks[0], dependent)).patched("a", "place", None)
    assert [slot.state for slot in after.task("b").slots.values()] == [SlotState.OPEN, SlotState.RESOLVED]


def test_the_first_task_whose_dependencies_are_done_is_next() -> None:
    plan = chain().patched("a", "place", None)
    assert plan.first_ready() == plan.task("a")
    plan = plan.with_task(Task("a", "look", state=TaskState.FAILED))
    assert plan.first_ready() is None
    plan = plan.with_task(Task("a", "look", state=TaskState.DONE))
    first = plan.first_ready()
    assert first is not None
    assert first.task_id == "b"


def test_new_tasks_go_before_the_open_ones() -> None:
    plan = chain().patched("c", "note", ArtifactFill(task="b"))
    new = Task("n", "fix")
    assert [task.task_id for task in plan.with_new_tasks([new]).tasks] == ["a", "b", "n", "c", "d"]
    assert [task.task_id for task in plan.with_new_tasks([new], before="d").tasks] == ["a", "b", "c", "n", "d"]
    assert [task.task_id for task in chain().with_new_tasks([new]).tasks] == ["a", "b", "c", "d", "n"]


texts = st.text(max_size=8)
fills = st.one_of(
    st.none(),
    st.builds(TextFill, texts),
    st.builds(ValueFill, st.one_of(st.none(), st.integers(-9, 9), texts, st.lists(st.booleans(), max_size=2)), texts),
    st.builds(ResultFill, texts, texts),
    st.builds(ArtifactFill, texts, texts),
)


@st.composite
def stored_slots(draw: st.DrawFn) -> TaskSlot:
    slot = TaskSlot(draw(texts), draw(fills), ask=draw(st.booleans()), attempts=draw(st.integers(0, 3)))
    if draw(st.booleans()):
        return slot.resolved(draw(st.one_of(st.none(), texts, st.integers(-9, 9))), draw(texts), draw(texts))
    return TaskSlot(slot.name, slot.fill, note=draw(st.one_of(st.none(), st.builds(Text, texts, texts))))


stored_tasks = st.builds(
    Task,
    task_id=texts,
    tool=texts,
    slots=st.lists(stored_slots(), max_size=3).map(lambda items: {slot.name: slot for slot in items}),
    after=st.lists(texts, max_size=2).map(tuple),
    state=st.sampled_from(TaskState),
    origin=st.sampled_from(Origin),
    tool_call_id=texts,
    artifact=st.one_of(st.none(), st.builds(ArtifactReference, texts, st.integers(1, 9), texts, texts, texts)),
    blocked=st.integers(0, 3),
)
stored_plans = st.builds(
    Plan,
    version=st.integers(1, 9),
    tasks=st.lists(stored_tasks, max_size=3).map(tuple),
    question=st.one_of(
        st.none(), st.builds(Question, texts, texts, st.integers(0, 9), st.booleans(), st.integers(0, 2))
    ),
    approval_digest=texts,
    approval_task=texts,
    offer=st.one_of(st.none(), st.builds(RevisionOffer, texts, texts, texts, st.integers(1, 9))),
    calls=st.lists(texts, max_size=3).map(tuple),
    reply=st.one_of(st.none(), st.builds(Text, texts, texts)),
    ended=st.booleans(),
    revisions=st.integers(0, 5),
    principal=texts,
)


@given(stored_plans)
def test_a_stored_plan_is_read_back_as_it_was(plan: Plan) -> None:
    assert decode_plan(encode_plan(plan), plan.version) == plan
