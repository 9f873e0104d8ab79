"""What a row of the table of rules says, and the names of files that the rows share. See rules.py."""

from __future__ import annotations

from dataclasses import dataclass

HERE = "tests/soundness/"
ACTION, STOP, INPUTS = f"{HERE}test_action.py::", f"{HERE}test_stop.py::", f"{HERE}test_inputs.py::"
PUBLISHING, DIGESTS = f"{HERE}test_publishing.py::", f"{HERE}test_digests.py::"
DECISIONS, MISTAKES, RESTORED = f"{HERE}test_decisions.py::", f"{HERE}test_mistakes.py::", f"{HERE}test_restored.py::"
ERASURE = f"{HERE}test_erasure.py::"
SETTLING = "tests/grpc/adapter/test_adapter_settlements.py::"
WAITING = "tests/grpc/whole/test_waiting.py::"

CLAIM = "adapter_service/application/execute/claim.py"
EXECUTE = "adapter_service/application/execute/execute_tool.py"
RUN_TOOL = "adapter_service/application/execute/run_tool.py"
RECORD = "adapter_service/application/execute/record_outcome.py"
DECIDE = "adapter_service/application/decide/decide.py"
OBSERVE = "adapter_service/application/decide/apply_observation.py"
CHANGE = "adapter_service/application/decide/request_change.py"
PREPARE = "adapter_service/application/decide/prepare_input.py"
COMPARE = "adapter_service/domain/approval.py"
ACCESS = "adapter_service/application/check_access.py"
CLOSE = "adapter_service/application/cancel_interaction.py"
DIGEST = "proto/python/handrail_rpc/digest.py"
LOOP = "loop_service/application/"


@dataclass(frozen=True, slots=True)
class Removal:
    """In `path`, `old` (found there exactly once) becomes `new`; then each of `tests` fails."""

    path: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """`name`: the model's, or for a sentence without one a name of our own. `place`: the one place of the rule."""

    name: str
    says: str
    place: str
    removals: tuple[Removal, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """Ids of the tests, each once."""
        return tuple(dict.fromkeys(test for removal in self.removals for test in removal.tests))
