"""Rows of 'Inputs: messages, clicks, signals'. Read by rules.py."""

from __future__ import annotations

from tests.soundness.rule import DECIDE, INPUTS, LOOP, MISTAKES, WAITING, Removal, Rule

ROWS = (
    Rule(
        "observation_first",
        "The observation for number n is committed by the Loop before Decide(n) is first sent.",
        f"{LOOP}work.py::observe_bytes",
        (
            Removal(
                f"{LOOP}steps.py",
                "    message = tx.messages.find(observation.message_id) if observation.message_id else None\n",
                "    message = tx.messages.recent(interaction.conversation_id, 1)[-1]\n"
                "    data = observation.data.replace(\n"
                "        tx.messages.find(observation.message_id).text.encode(), message.text.encode()\n"
                "    ) if observation.message_id and message.role == 'user' else observation.data\n"
                "    from dataclasses import replace\n"
                "    observation = replace(observation, data=data)\n",
                (
                    f"{INPUTS}test_observation_first",
                    f"{MISTAKES}test_observation_first_killed_after_the_adapters_commit",
                ),
            ),
        ),
    ),
    Rule(
        "first_writer",
        "Storing decision n is insert-if-absent; the loser discards its work and returns the stored one.",
        f"{DECIDE}::_store",
        (
            Removal(
                DECIDE,
                "        if stored is not None:\n            return AtRevision(stored, session.revision)"
                "  # first_writer: the loser's work is discarded\n"
                "        if session.revision != turn.situation.session.revision:\n",
                "        if False:\n",
                (f"{INPUTS}test_first_writer",),
            ),
        ),
    ),
    Rule(
        "inbox",
        "An input that comes while an interaction is busy is queued and consumed one a number.",
        f"{LOOP}send_message.py::_join",
        (
            Removal(
                f"{LOOP}send_message.py",
                "        work.tx.steps.push_inbox(",
                "        (lambda *_: None)(",
                (f"{INPUTS}test_inbox",),
            ),
        ),
    ),
    Rule(
        "drain_first",
        "A question, a wait or an end is shown only when no input is queued; otherwise the input goes on.",
        f"{LOOP}act_on.py::drain",
        (
            Removal(
                f"{LOOP}act_on.py",
                "            if not drain(work, decision.number):\n                _ask(work, decision, outcome)\n",
                "            _ask(work, decision, outcome)\n",
                (f"{INPUTS}test_drain_first", f"{INPUTS}test_inbox"),
            ),
            Removal(
                f"{LOOP}lifecycle.py",
                "    _open_successor(work)\n",
                "",
                (f"{INPUTS}test_drain_first_a_message_queued_behind_an_ending_opens_the_successor",),
            ),
        ),
    ),
    Rule(
        "mailbox",
        "A signal is stored when it comes; going to sleep and looking into the mailbox is one transaction.",
        f"{LOOP}act_on.py::wait_again",
        (
            Removal(
                f"{LOOP}act_on.py",
                "if signal and interaction.kept_signals else None",
                "if False else None",
                (f"{WAITING}test_mailbox_a_signal_that_comes_before_the_wait_is_kept_and_ends_it",),
            ),
            Removal(
                f"{LOOP}signal_interaction.py",
                "            _keep(work, request)\n",
                "            pass\n",
                (f"{WAITING}test_mailbox_a_signal_that_comes_before_the_wait_is_kept_and_ends_it",),
            ),
        ),
    ),
    Rule(
        "verdict_cas",
        "A classification is applied only to the state it was made for.",
        f"{LOOP}endings.py::load",
        (
            Removal(
                f"{LOOP}endings.py",
                "        interaction.owner != context.owner\n        or interaction.epoch < context.epoch\n"
                "        or interaction.active_run_id != context.run_id\n        or run.state is not RunState.RUNNING\n"
                "        or run.attempts != context.attempt\n",
                "        interaction.active_run_id != context.run_id\n",
                (f"{INPUTS}test_verdict_cas",),
            ),
            Removal(
                DECIDE,
                "    if command.base_plan_version != plan_version:\n",
                "    if False:\n",
                (f"{INPUTS}test_verdict_cas_an_observation_of_another_plan_version_is_refused",),
            ),
        ),
    ),
    Rule(
        "close_question",
        "The input that moves the interaction closes its open question in the same transaction.",
        f"{LOOP}send_message.py::_answer",
        (
            Removal(
                f"{LOOP}send_message.py",
                "        clarification.close(status, work.now, message.message_id)\n",
                "",
                (f"{INPUTS}test_close_question",),
            ),
            Removal(
                f"{LOOP}stopping.py",
                "        close_open_parts(work)\n",
                "        pass\n",
                (f"{INPUTS}test_close_question_a_stop_closes_it_too",),
            ),
        ),
    ),
    Rule(
        "supersede_in_decide",
        "The successor's first Decide closes the superseded interaction in the same Adapter transaction.",
        f"{DECIDE}::_store",
        (
            Removal(
                DECIDE,
                "        for ended in _ended_by(command):\n",
                "        for ended in ():\n",
                (
                    f"{INPUTS}test_supersede_in_decide",
                    f"{INPUTS}test_supersede_in_decide_is_asked_for_by_the_loop",
                ),
            ),
            Removal(
                f"{LOOP}lifecycle.py",
                "    interaction.supersedes = old.interaction_id\n",
                "",
                (f"{INPUTS}test_supersede_in_decide_is_asked_for_by_the_loop",),
            ),
        ),
    ),
    Rule(
        "request_in_tx",
        "request_id and message are one transaction.",
        f"{LOOP}send_message.py::SendMessage",
        (
            Removal(
                f"{LOOP}send_message.py",
                "        tx.requests.insert(accepted, now)\n",
                "",
                (f"{INPUTS}test_request_in_tx",),
            ),
        ),
    ),
)
