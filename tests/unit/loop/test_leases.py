"""Leases on the real stores: who may claim, renew and adopt (soundness.md 'Action', engineering.md 'Replicas')."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from loop_service.application.create_conversation import NewConversation
from loop_service.application.send_message import NewMessage
from loop_service.application.store_ports import Transaction
from loop_service.domain.interaction import Interaction
from tests.fakes import adapter as script
from tests.unit.loop.stage import CALL, Stage, make_template


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """One run, claimed at birth by own_test under epoch 1."""
    made = Stage(tmp_path, make_template(tmp_path))
    made.adapter.decide_next = lambda asked: script.complete()
    request = NewConversation("create", "body", "test", "", {})
    conversation_id = made.run(made.create.execute(request, CALL)).conversation_id
    made.run(made.send.execute(NewMessage("one", "body", conversation_id, "go", None, "", ()), CALL))
    yield made
    made.close()


def held(stage: Stage) -> Interaction:
    interaction_id = next(iter(stage.workers.steps))
    found = stage.run(stage.storage.read(lambda tx: tx.interactions.find(interaction_id)))
    assert found is not None
    return found


def test_a_live_lease_is_not_claimed_a_lapsed_one_is_under_a_higher_epoch(stage: Stage) -> None:
    assert (held(stage).owner, held(stage).epoch) == ("own_test", 1)
    assert stage.claim() == 0
    stage.clock.pass_time(31)
    assert stage.claim() == 1
    assert held(stage).epoch == 2


def test_renewal_extends_what_is_held_and_never_resurrects(stage: Stage) -> None:
    interaction = held(stage)
    stage.clock.pass_time(20)
    renewed = stage.run(stage.claims.renew("own_test", [interaction.interaction_id]))
    assert renewed == [interaction.interaction_id]
    assert held(stage).lease_until == stage.clock.now() + timedelta(seconds=30)
    assert stage.run(stage.claims.renew("own_other", [interaction.interaction_id])) == []
    stage.run(stage.claims.void_leases())
    assert stage.run(stage.claims.renew("own_test", [interaction.interaction_id])) == []


def test_adopt_fence_is_a_compare_and_set_on_the_own_lease(stage: Stage) -> None:
    interaction_id = held(stage).interaction_id

    def adopt(owner: str, epoch: int, higher: int) -> bool:
        def change(tx: Transaction) -> bool:
            return tx.interactions.adopt_fence(interaction_id, owner, epoch, higher)

        return stage.run(stage.storage.write(change))

    assert not adopt("own_other", 1, 9)
    assert not adopt("own_test", 2, 9)
    assert not adopt("own_test", 1, 1)
    assert adopt("own_test", 1, 9)
    assert held(stage).epoch == 9


def test_epochs_go_on_after_a_restart(stage: Stage) -> None:
    interaction_id = held(stage).interaction_id
    stage.restart()
    assert stage.claim() == 1
    assert stage.workers.steps[interaction_id].context.epoch == 2
