"""Errors of a domain: wrong declarations, found at start-up, and what tools report instead of a result."""

from __future__ import annotations

from adapter_service.sdk.text import Text


class DeclarationError(Exception):
    """A domain is declared wrongly. Each mistake names the declaration and the fix; raised at start-up."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


class BaseChanged(Exception):
    """What a CHANGE or EXTERNAL tool would replace is not what was approved; raised right before its write.

    Nothing was written. The call is recorded as blocked, its key is used up, and a fresh approval is asked for
    (soundness rule compare_at_write). Compare with ToolContext.base_sha256, under the target's own lock if it has one.
    """


class ToolError(Exception):
    """A tool could not do its work; raised by a tool function or by the wrapper that translates its own errors.

    Args:
        code: lower_snake code of the failure catalogue, for example "entity_not_found" or "tool_failed".
        explanation: what happened, for the user.
        helpful_action: what would help; None if nothing does.
        source_code: the code of the original error.
        correctable: True where another input can succeed, so that the planner may try or the user is asked again.
        retryable: True where the same call can succeed later.
        slot: the parameter that is wrong, where one is.
    """

    def __init__(
        self,
        code: str,
        explanation: Text,
        *,
        helpful_action: Text | None = None,
        source_code: str = "",
        correctable: bool = False,
        retryable: bool = False,
        slot: str = "",
    ) -> None:
        super().__init__(code)
        self.code = code
        self.explanation = explanation
        self.helpful_action = helpful_action
        self.source_code = source_code
        self.correctable = correctable
        self.retryable = retryable
        self.slot = slot
