"""No boundary without a crash point, no crash point that nothing reaches: the list is held against code and cases."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import ServiceDescriptor

from handrail.adapter.v1 import domain_adapter_service_pb2
from handrail.loop.v1 import workflow_loop_service_pb2
from handrail_rpc.crash_points import ADAPTER_REPLIES, ADAPTER_UNITS, LOOP_CALLS, LOOP_REPLIES, LOOP_UNITS, POINTS
from tests.crash.carrying import EVERY_SCENARIO
from tests.crash.cases import ALONE, TOGETHER

ROOT = Path(__file__).resolve().parents[2]
# Calls by which a unit of work reaches the writer, with the names of what they are called on.
_WRITERS = {"write": ("storage", "unit_of_work"), "write_now": ("unit_of_work",), "accept": ("acceptor",)}
_LOOP = workflow_loop_service_pb2.DESCRIPTOR.services_by_name["WorkflowLoopService"]
_ADAPTER = domain_adapter_service_pb2.DESCRIPTOR.services_by_name["DomainAdapterService"]


def _calls(package: str) -> Iterator[tuple[str, ast.Call]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        if "domains" in path.parts or path.parts[-2] == "storage":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def _units(package: str) -> Counter[str]:
    """Every name at a write; fails for a write without one."""
    found: Counter[str] = Counter()
    for where, call in _calls(package):
        assert isinstance(call.func, ast.Attribute)
        receivers = _WRITERS.get(call.func.attr)
        if receivers is None or not ast.unparse(call.func.value).rpartition(".")[2].lstrip("_").startswith(receivers):
            continue
        name = next((keyword.value for keyword in call.keywords if keyword.arg == "name"), None)
        assert name is not None, f"{where}: a unit of work without a name has no crash points"
        if isinstance(name, ast.Constant):
            found[str(name.value)] += 1
        else:
            assert where.startswith("loop_service/application/accept.py"), f"{where}: the name must stand there"
    return found


@pytest.mark.parametrize(
    ("package", "units"), [("loop_service", LOOP_UNITS), ("adapter_service", ADAPTER_UNITS)], ids=["loop", "adapter"]
)
def test_every_unit_of_work_has_a_listed_name_of_its_own(package: str, units: tuple[str, ...]) -> None:
    assert _units(package) == Counter(units)


def test_every_other_point_is_reached_once_in_the_code_that_it_names() -> None:
    """Calls to the Adapter and a domain's functions; replies are reached in one place for all RPCs."""
    written: set[str] = set()
    for package in ("loop_service", "adapter_service"):
        for where, call in _calls(package):
            if ast.unparse(call.func) == "crash_points.reach":
                [name] = call.args
                assert isinstance(name, ast.Constant), f"{where}: the name must stand there"
                written.add(str(name.value))
    listed = {point for point in POINTS if point.startswith(("loop.call.", "adapter.tool.", "adapter.probe."))}
    assert written == listed


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).removeprefix("_")


@pytest.mark.parametrize(
    ("service", "replies"), [(_LOOP, LOOP_REPLIES), (_ADAPTER, ADAPTER_REPLIES)], ids=["loop", "adapter"]
)
def test_every_rpc_that_changes_something_or_streams_has_points_at_its_replies(
    service: ServiceDescriptor, replies: tuple[str, ...]
) -> None:
    own = {
        _snake(method.name)
        for method in service.methods
        if "request_id" in method.input_type.fields_by_name or method.server_streaming
    }
    assert own == set(replies) - {"query"}


def test_every_rpc_of_the_adapter_that_changes_something_has_points_at_its_call() -> None:
    changing = {_snake(each.name) for each in _ADAPTER.methods if "request_id" in each.input_type.fields_by_name}
    assert changing == set(LOOP_CALLS)


def test_every_point_is_reached_alone() -> None:
    reached = {case.points[-1].partition(":")[0] for case in ALONE}
    assert reached == set(POINTS)


@pytest.mark.parametrize("own", ["loop.", "adapter."])
def test_every_point_is_reached_together_with_one_of_the_other_service(own: str) -> None:
    """But for those by which one service takes up what the other's death left: they are reached after it."""
    paired: set[str] = set()
    for case in TOGETHER:
        points = {point.partition(":")[0] for point in case.points}
        if len({point.partition(".")[0] for point in points}) == 2:
            paired |= points
    assert {point for point in POINTS if point.startswith(own)} <= paired


def test_every_scenario_is_run_and_every_row_names_one() -> None:
    assert {case.scenario for case in ALONE + TOGETHER} <= set(EVERY_SCENARIO)
    names = [case.name for case in ALONE + TOGETHER]
    assert len(names) == len(set(names))
