"""The state table (C2): legal steps happen, every other one is refused and changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from loop_service.domain.errors import IllegalTransition, LeaseLost
from loop_service.domain.interaction import ACTIVE, TERMINAL, WAITING, Interaction, InteractionState, Requester
from loop_service.domain.transitions import LEGAL, TABLE, Transition, move

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def interaction(state: InteractionState) -> Interaction:
    requester = Requester("ann", "acme", ("dispatcher",), "en")
    return Interaction("int_1", "conv_1", "test", requester, "msg_1", NOW, NOW, state=state)


@pytest.mark.parametrize("state", list(InteractionState))
@pytest.mark.parametrize("transition", TABLE, ids=lambda t: t.name)
def test_a_step_is_taken_exactly_where_the_table_names_it(state: InteractionState, transition: Transition) -> None:
    subject = interaction(state)
    if state in transition.sources:
        event = move(subject, transition, NOW)
        assert (event.from_state, event.to_state) == (state.value, transition.destination.value)
        assert subject.state is transition.destination
        assert (subject.end_time is not None) == (transition.destination in TERMINAL)
    else:
        with pytest.raises(IllegalTransition) as refused:
            move(subject, transition, NOW)
        assert subject.state is state
        assert refused.value.metadata["state"] == state.value


def test_nothing_leaves_a_terminal_state() -> None:
    assert not [pair for pair in LEGAL if pair[0] in TERMINAL]


def test_every_state_that_is_not_terminal_has_a_way_to_an_end() -> None:
    for state in ACTIVE | WAITING:
        ends = {after for before, after in LEGAL if before is state} & TERMINAL
        assert InteractionState.CANCELED in ends
        assert InteractionState.FAILED in ends


def test_every_state_is_reached() -> None:
    assert {after for _, after in LEGAL} == set(InteractionState) - {InteractionState.NEW}


def test_fence_interaction_the_epoch_only_rises() -> None:
    subject = interaction(InteractionState.PREPARING)
    subject.take_lease("own_1", NOW)
    assert subject.epoch == 1
    subject.revoke_lease()
    with pytest.raises(LeaseLost):
        subject.check_lease("own_1", 1)
    subject.take_lease("own_1", NOW)
    assert subject.epoch == 3
    subject.drop_lease()
    assert subject.epoch == 3
