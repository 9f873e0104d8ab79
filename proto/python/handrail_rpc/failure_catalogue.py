"""Every stage and code of a failure or policy block with its texts, what helps and whether a retry can work (G1).

The one place for codes: both services tell failures with these entries, and `tests/contract/test_failure_catalogue.py`
keeps the list complete. A new code is one entry here, with the test that provokes it in `provoked_by`, or, where
nothing can provoke it yet, what will make it reachable in `reachable_with`. Standard library only.

Tools bring their own explanations (ToolError); their codes are from here. `{name}` parts are filled in by the caller.
"""

from __future__ import annotations

from typing import Final

from handrail_rpc.failure_entry import Entry, Stage, Wording, entry
from handrail_rpc.localized_text import Text

AGAIN: Final = Text("Send the request again.", "Отправьте запрос ещё раз.")
LATER: Final = Text("Send the request again in a little while.", "Отправьте запрос ещё раз немного позже.")
TRY_AGAIN: Final = Text("Try again.", "Повторите попытку.")
SMALLER: Final = Text("Split the request into smaller ones.", "Разбейте запрос на несколько меньших.")
OTHER_WORDS: Final = Text("Say the request in other words.", "Сформулируйте запрос иначе.")
FRESH_APPROVAL: Final = Text(
    "Send a message to ask for a fresh approval.", "Напишите сообщение, чтобы запросить новое одобрение."
)
_FAULTS = "grpc/loop/test_workflow_model_faults"
_WITHOUT_DEFAULT = f"{_FAULTS}::test_without_a_default_the_models_fault_ends_the_run_with_its_code"

_APPROVALS = "grpc/adapter/test_adapter_approvals"
_EXECUTIONS = "grpc/adapter/test_adapter_executions"
_BROKEN = "grpc/adapter/test_adapter_broken_domain"
_PLANNING = "grpc/adapter/test_adapter_planning"
_RECOVERY = "grpc/loop/test_recovery"
_CHANNELS = "grpc/loop/test_channel_failures"
_HERE = "grpc/loop/test_failures"
_THERE = "grpc/adapter/test_adapter_failures"

CATALOGUE: Final[dict[str, Entry]] = {
    # Before the request is accepted.
    "queue_full": entry(
        Stage.ADMISSION,
        en="Too many requests are waiting just now; this one was not accepted and nothing of it is stored.",
        ru="Сейчас ожидает слишком много запросов; этот не принят, и ничего из него не сохранено.",
        help=LATER,
        retryable=True,
        provoked_by="grpc/loop/test_admission::test_a_full_queue_refuses_a_message_before_anything_is_stored",
    ),
    # Context.
    "context_budget_exceeded": entry(
        Stage.CONTEXT,
        en="One part of the request is too large to be worked with: {part}.",
        ru="Одна из частей запроса слишком велика для обработки: {part}.",
        help=Text("Shorten that part.", "Сократите эту часть."),
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "workspace_snapshot_unknown": entry(
        Stage.CONTEXT,
        en="The message names a workspace snapshot that this conversation does not have.",
        ru="В сообщении указан снимок рабочей области, которого нет в этом разговоре.",
        help=Text(
            "Upload the workspace to this conversation first, or send the message without a snapshot.",
            "Сначала загрузите рабочую область в этот разговор или отправьте сообщение без указания снимка.",
        ),
        provoked_by="grpc/adapter/test_adapter_workspaces::test_a_message_names_a_snapshot_of_its_conversation",
    ),
    "internal_error": entry(
        Stage.CONTEXT,
        en="An internal error stopped the request; its cause is logged under the request id.",
        ru="Внутренняя ошибка остановила запрос; причина записана в журнал под идентификатором запроса.",
        help=AGAIN,
        retryable=True,
        provoked_by=f"{_HERE}::test_a_step_that_breaks_for_good_ends_as_internal_error",
    ),
    # Planning and resolving.
    "plan_invalid": entry(
        Stage.PLANNING,
        en="The domain service made a decision that cannot be carried out.",
        ru="Доменная служба приняла решение, которое нельзя выполнить.",
        situations={
            "plan": Wording(
                Text(
                    "The plan for this request was not valid, so it was stopped here.",
                    "План для этого запроса оказался некорректным, поэтому выполнение остановлено.",
                ),
                OTHER_WORDS,
            )
        },
        provoked_by="grpc/loop/test_reading::test_a_decision_that_cannot_be_carried_out_is_plan_invalid",
    ),
    "entity_not_found": entry(
        Stage.PLANNING,
        Stage.TOOL,
        en="{title}: the step before found nothing to go on with.",
        ru="{title}: предыдущий шаг ничего не нашёл.",
        situations={
            "artifact": Wording(
                Text("There is no {kind} to work with yet.", "Пока нет того, с чем нужно работать: {kind}."),
                Text("Create it first.", "Сначала нужно это создать."),
            ),
            "text": Wording(Text("“{text}” is not an accepted value.", "Значение «{text}» не подходит.")),
        },
        provoked_by=f"{_PLANNING}::test_a_result_without_the_wanted_part_ends_with_the_confirmed_step",
    ),
    # Policy: nothing was called.
    "interaction_closed": entry(
        Stage.POLICY,
        en="The request was canceled or replaced.",
        ru="Запрос отменён или заменён другим.",
        lifted_by=Text("a new request", "новый запрос"),
        provoked_by=f"{_THERE}::test_a_read_that_a_cancel_overtook_in_a_crash_is_blocked_as_closed",
    ),
    "tool_not_permitted": entry(
        Stage.POLICY,
        en="Your roles do not permit this action.",
        ru="Ваши роли не разрешают это действие.",
        provoked_by=f"{_PLANNING}::test_roles_decide_which_tools_may_run",
    ),
    "validation_missing": entry(
        Stage.POLICY,
        en="The current version has not been validated.",
        ru="Текущая версия ещё не проверена.",
        lifted_by=Text("a validation of the current version", "проверка текущей версии"),
        provoked_by=f"{_THERE}::test_a_version_that_was_not_validated_is_blocked_and_then_validated",
    ),
    "validation_failed": entry(
        Stage.POLICY,
        en="The validation of the current version failed.",
        ru="Текущая версия не прошла проверку.",
        situations={"findings": Wording(Text("The validation failed: {findings}", "Проверка не пройдена: {findings}"))},
        lifted_by=Text("a revision that passes validation", "исправление, которое пройдёт проверку"),
        provoked_by=f"{_APPROVALS}::test_a_revision_that_the_roles_do_not_permit_is_not_offered",
    ),
    "approval_missing": entry(
        Stage.POLICY,
        en="Nobody has approved this action yet.",
        ru="Это действие ещё никто не одобрил.",
        lifted_by=Text("an approval", "одобрение"),
        provoked_by=f"{_APPROVALS}::test_nothing_runs_that_nobody_approved",
    ),
    "approval_stale": entry(
        Stage.POLICY,
        en="What was approved is no longer what would be executed.",
        ru="Одобрено было одно, а выполнилось бы сейчас другое: содержимое изменилось.",
        situations={
            "verdict": Wording(
                Text(
                    "What this approval was bound to has changed since it was shown.",
                    "То, к чему относилось это одобрение, с тех пор изменилось.",
                ),
                Text("Approve what is shown now.", "Одобрите то, что показано сейчас."),
            )
        },
        lifted_by=Text("a new approval of the current content", "новое одобрение текущего содержимого"),
        provoked_by=f"{_APPROVALS}::test_approval_of_a_world_that_moved_is_stale_and_asked_for_again",
    ),
    "approval_expired": entry(
        Stage.POLICY,
        en="The approval has expired.",
        ru="Срок действия одобрения истёк.",
        help=FRESH_APPROVAL,
        lifted_by=Text("a new approval", "новое одобрение"),
        provoked_by=f"{_APPROVALS}::test_an_expired_approval_blocks_until_the_next_message",
    ),
    "approval_rejected": entry(
        Stage.POLICY,
        en="The approval was rejected.",
        ru="В одобрении отказано.",
        provoked_by="grpc/loop/test_approvals::test_rejection_ends_canceled_with_its_code",
    ),
    "target_busy": entry(
        Stage.POLICY,
        en="Another change of the same target is under way or its outcome is unknown.",
        ru="Другое изменение этого же объекта ещё выполняется, или его исход неизвестен.",
        lifted_by=Text("the end of the other change", "завершение другого изменения"),
        provoked_by="soundness/test_publishing::test_target_lock",
    ),
    "policy_version_outdated": entry(
        Stage.POLICY,
        Stage.TOOL,
        en="This service still works by older rules than those in force, so nothing more was executed.",
        ru="Служба всё ещё работает по старым правилам, хотя действуют новые, поэтому больше ничего не выполнено.",
        help=Text(
            "An operator has to start the newer version of the service.",
            "Администратору нужно запустить более новую версию службы.",
        ),
        provoked_by=f"{_APPROVALS}::test_a_process_of_an_older_version_asks_for_no_approval_that_can_never_pass",
    ),
    # Tools: the call began.
    "tool_failed": entry(
        Stage.TOOL,
        en="{title}: the step failed for an internal reason.",
        ru="{title}: шаг не выполнен из-за внутренней ошибки.",
        situations={
            "no_thread_free": Wording(
                Text(
                    "{title}: the step failed for an internal reason.",
                    "{title}: шаг не выполнен из-за внутренней ошибки.",
                ),
                TRY_AGAIN,
                retryable=True,
            ),
            "artifact_changed": Wording(
                Text(
                    "{title}: the document was changed meanwhile, so this change was not made.",
                    "{title}: документ тем временем изменился, поэтому правка не внесена.",
                ),
                retryable=True,
            ),
        },
        provoked_by=f"{_PLANNING}::test_an_exceptions_text_never_leaves_the_process",
    ),
    "tool_timeout": entry(
        Stage.TOOL,
        en="{title}: the step took too long and was stopped.",
        ru="{title}: шаг занял слишком много времени и был остановлен.",
        help=TRY_AGAIN,
        retryable=True,
        provoked_by=f"{_EXECUTIONS}::test_a_read_that_takes_too_long_failed_and_may_be_tried_again",
    ),
    "tool_result_too_large": entry(
        Stage.TOOL,
        en="{title}: the {what} has {size} bytes; at most {limit} bytes are kept.",
        ru="{title}: слишком большой объём ({what}): {size} байт; хранится не более {limit} байт.",
        help=Text("Ask for a smaller part.", "Запросите меньшую часть."),
        provoked_by=f"{_BROKEN}::test_a_result_beyond_the_limit_fails_with_the_limit_and_its_size",
    ),
    "tool_input_invalid": entry(
        Stage.PLANNING,
        Stage.TOOL,
        en="{title}: the input is not valid.",
        ru="{title}: недопустимые входные данные.",
        situations={"text": Wording(Text("“{text}” is not an accepted value.", "Значение «{text}» не подходит."))},
        provoked_by=f"{_THERE}::test_an_input_that_the_tool_refuses_is_asked_for_again_and_then_fails",
    ),
    "tool_outcome_unknown": entry(
        Stage.TOOL,
        en="It is not known whether “{tool}” took effect; it will not be called again by itself.",
        ru="Неизвестно, сработал ли инструмент «{tool}»; автоматически он повторно вызван не будет.",
        help=Text(
            "Check the result where the change should have arrived.",
            "Проверьте результат там, где должно было появиться изменение.",
        ),
        situations={
            "step": Wording(
                Text(
                    "{title}: it is not known whether the step took effect.",
                    "{title}: неизвестно, был ли шаг выполнен.",
                ),
                Text(
                    "Check the target system and settle the outcome; do not simply repeat it.",
                    "Проверьте результат во внешней системе и подтвердите исход; не повторяйте действие вслепую.",
                ),
            )
        },
        provoked_by="grpc/loop/test_busy::test_unknown_outcome_fails_the_run_and_says_so",
    ),
    "settled_executed": entry(
        Stage.TOOL,
        en="A person confirmed that “{tool}” took effect; the request had stopped before that was known.",
        ru="Проверка подтвердила, что инструмент «{tool}» сработал; запрос остановился раньше, чем это стало известно.",
        help=Text("Send a message to go on from there.", "Напишите сообщение, чтобы продолжить с этого места."),
        provoked_by="grpc/whole/test_settlements::test_it_happened_makes_the_call_a_confirmed_step",
    ),
    "settled_not_executed": entry(
        Stage.TOOL,
        en="A person found that “{tool}” did not take effect; it changed nothing.",
        ru="Проверка показала, что инструмент «{tool}» не сработал; он ничего не изменил.",
        help=Text(
            "Send a message to ask for it again, if it is still wanted.",
            "Если действие всё ещё нужно, запросите его новым сообщением.",
        ),
        situations={
            "step": Wording(
                Text(
                    "{title}: a person found that the step did not take effect; it changed nothing.",
                    "{title}: проверка показала, что шаг не сработал; он ничего не изменил.",
                )
            )
        },
        provoked_by="grpc/whole/test_settlements::test_it_did_not_happen_fails_the_call_with_its_own_code",
    ),
    # Generating text by a model.
    "model_unavailable": entry(
        Stage.GENERATION,
        en="The language model could not be reached.",
        ru="Языковая модель недоступна.",
        help=LATER,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_rate_limited": entry(
        Stage.GENERATION,
        en="The language model takes no more requests for the moment.",
        ru="Языковая модель временно не принимает новые запросы.",
        help=LATER,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_overloaded": entry(
        Stage.GENERATION,
        en="The provider of the language model is overloaded.",
        ru="Поставщик языковой модели перегружен.",
        help=LATER,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_timed_out": entry(
        Stage.GENERATION,
        en="The language model did not answer in time.",
        ru="Языковая модель не ответила вовремя.",
        help=LATER,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_disconnected": entry(
        Stage.GENERATION,
        en="The connection to the language model broke off before its answer was complete.",
        ru="Связь с языковой моделью оборвалась до того, как ответ был получен полностью.",
        help=AGAIN,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_request_rejected": entry(
        Stage.GENERATION,
        en="The provider of the language model did not accept the request: its key, its model or its address is wrong.",
        ru="Поставщик языковой модели не принял запрос: неверны ключ, название модели или адрес.",
        help=Text("An operator has to check the settings of the model.", "Настройки модели должен проверить оператор."),
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_output_invalid": entry(
        Stage.GENERATION,
        en="The language model did not answer in the required form, so its answer is not used.",
        ru="Языковая модель ответила не в той форме, которая требовалась, поэтому её ответ не использован.",
        help=AGAIN,
        retryable=True,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_output_truncated": entry(
        Stage.GENERATION,
        en="The answer of the language model was cut off by its length limit, so it is not shown.",
        ru="Ответ языковой модели оборвался на предельной длине, поэтому он не показан.",
        help=SMALLER,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    "model_refused": entry(
        Stage.GENERATION,
        en="The language model declined to answer this request.",
        ru="Языковая модель отказалась отвечать на этот запрос.",
        help=OTHER_WORDS,
        provoked_by=_WITHOUT_DEFAULT,
    ),
    # Verifying an answer.
    "answer_empty": entry(
        Stage.VERIFICATION,
        en="No answer could be composed.",
        ru="Составить ответ не удалось.",
        provoked_by=f"{_THERE}::test_an_answer_without_text_is_not_shown",
    ),
    "unverified_identity": entry(
        Stage.VERIFICATION,
        en="The composed answer named something that no result contains, so it is not shown.",
        ru="Составленный ответ называл то, чего нет ни в одном результате, поэтому он не показан.",
        provoked_by=f"{_PLANNING}::test_an_answer_that_says_more_than_happened_is_not_shown",
    ),
    "unverified_citation": entry(
        Stage.VERIFICATION,
        en="The composed answer cited a document that it was not given, so it is not shown.",
        ru="Составленный ответ ссылался на документ, которого ему не давали, поэтому он не показан.",
        provoked_by=f"{_PLANNING}::test_an_answer_that_cites_only_what_it_was_not_given_is_not_shown",
    ),
    "claimed_change_not_executed": entry(
        Stage.VERIFICATION,
        en="The composed answer claimed an action that was not executed, so it is not shown.",
        ru="Составленный ответ сообщал о действии, которое не выполнялось, поэтому он не показан.",
        provoked_by=f"{_PLANNING}::test_replies_without_tools_are_checked_too",
    ),
    # Budgets of the interaction (B4).
    "deadline_exceeded": entry(
        Stage.DEADLINE,
        en="The request used up its working time: {limit} s.",
        ru="Запрос исчерпал отведённое время работы: {limit} с.",
        help=SMALLER,
        retryable=True,
        provoked_by=f"{_RECOVERY}::test_a_slow_decision_ends_at_the_deadline",
    ),
    "tool_action_limit_reached": entry(
        Stage.DEADLINE,
        en="The request reached its limit of tool actions: {limit}.",
        ru="Достигнут предел числа действий с инструментами на один запрос: {limit}.",
        help=SMALLER,
        provoked_by="grpc/loop/test_busy::test_tool_action_limit_names_the_limit_and_the_steps",
    ),
    "clarification_limit_reached": entry(
        Stage.DEADLINE,
        Stage.PLANNING,
        en="The request is still unclear, and the limit of questions is reached: {limit}.",
        ru="Запрос всё ещё неясен, а предел числа уточняющих вопросов достигнут: {limit}.",
        help=Text("Say the whole request again in one message.", "Сформулируйте запрос целиком в одном сообщении."),
        situations={
            "changes": Wording(
                Text("It did not become clear what should be changed.", "Не удалось понять, что именно нужно изменить.")
            )
        },
        provoked_by="grpc/loop/test_inputs::test_clarification_rounds_are_bounded",
    ),
    "decision_limit_reached": entry(
        Stage.DEADLINE,
        en="The request reached its limit of decisions: {limit}.",
        ru="Достигнут предел числа решений на один запрос: {limit}.",
        help=SMALLER,
        provoked_by=f"{_HERE}::test_decisions_are_bounded",
    ),
    "generation_limit_reached": entry(
        Stage.DEADLINE,
        en="The request reached its limit of model generations: {limit}.",
        ru="Достигнут предел числа обращений к модели на один запрос: {limit}.",
        help=SMALLER,
        provoked_by=f"{_HERE}::test_generations_that_the_adapter_reports_are_bounded",
    ),
    # Storage and the Domain Adapter.
    "storage_unavailable": entry(
        Stage.STORAGE,
        en="The data could not be stored or read.",
        ru="Не удалось сохранить или прочитать данные.",
        help=AGAIN,
        retryable=True,
        provoked_by="restore/test_full_disk"
        "::test_an_adapter_that_can_store_nothing_for_long_fails_the_run_as_storage_unavailable",
    ),
    "session_diverged": entry(
        Stage.STORAGE,
        en="The records of the two services do not match, so nothing more was executed.",
        ru="Записи двух служб расходятся, поэтому больше ничего не выполнялось.",
        help=Text(
            "Start a new conversation, or ask an operator to reopen this one.",
            "Начните новую беседу или попросите администратора открыть эту заново.",
        ),
        provoked_by=f"{_RECOVERY}::test_diverged_ends_a_refusal_is_never_guessed_about",
    ),
    "adapter_unavailable": entry(
        Stage.ADAPTER,
        en="The domain service did not answer in time. Your message is kept.",
        ru="Доменная служба не ответила вовремя. Ваше сообщение сохранено.",
        help=LATER,
        retryable=True,
        provoked_by=f"{_RECOVERY}::test_adapter_away_for_good_fails_with_the_message_kept",
    ),
    "adapter_failed": entry(
        Stage.ADAPTER,
        en="The domain service met an internal error and could not go on.",
        ru="В доменной службе произошла внутренняя ошибка, продолжить не удалось.",
        help=AGAIN,
        retryable=True,
        provoked_by=f"{_RECOVERY}::test_an_internal_error_of_the_adapter_is_tried_again_then_told",
    ),
    "domain_not_served": entry(
        Stage.ADAPTER,
        en="This domain is configured, but the service behind it does not offer it.",
        ru="Эта предметная область настроена, но служба, к которой она относится, её не предоставляет.",
        help=Text(
            "Open a conversation in a domain that is listed as available.",
            "Откройте беседу в области, которая указана как доступная.",
        ),
        provoked_by="grpc/loop/test_busy::test_a_domain_that_its_adapter_lacks_is_no_divergence",
    ),
    # The client's own channel, as the client reports it (ReportChannelFailure).
    "audio_input_failed": entry(
        Stage.CHANNEL,
        en="No usable sound came from the microphone.",
        ru="С микрофона не поступило пригодного звука.",
        help=Text(
            "Check the microphone and whether its use is allowed, or type the message.",
            "Проверьте микрофон и разрешение на его использование или введите сообщение текстом.",
        ),
        retryable=True,
        provoked_by=f"{_CHANNELS}::test_each_code_of_a_channel_is_stored_with_its_texts",
    ),
    "audio_output_failed": entry(
        Stage.CHANNEL,
        en="The answer could not be played.",
        ru="Не удалось воспроизвести ответ.",
        help=Text("Read it on the screen, or check the sound output.", "Прочитайте его на экране или проверьте звук."),
        retryable=True,
        provoked_by=f"{_CHANNELS}::test_each_code_of_a_channel_is_stored_with_its_texts",
    ),
    "socket_closed": entry(
        Stage.CHANNEL,
        en="The connection to the client was closed before everything was delivered; the request itself goes on.",
        ru="Соединение с клиентом закрылось раньше, чем всё было передано; сам запрос при этом продолжается.",
        help=Text(
            "Connect again and read on from the last event.", "Подключитесь снова и читайте с последнего события."
        ),
        retryable=True,
        provoked_by=f"{_CHANNELS}::test_each_code_of_a_channel_is_stored_with_its_texts",
    ),
    "channel_failed": entry(
        Stage.CHANNEL,
        en="The client met a fault of its own channel.",
        ru="В канале связи клиента произошёл сбой.",
        help=TRY_AGAIN,
        retryable=True,
        provoked_by=f"{_CHANNELS}::test_each_code_of_a_channel_is_stored_with_its_texts",
    ),
}


def of_stage(stage: Stage) -> tuple[str, ...]:
    """Codes that can arise at a stage, in alphabetical order."""
    return tuple(sorted(code for code, found in CATALOGUE.items() if stage in found.stages))
