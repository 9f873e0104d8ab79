"""Texts that users read, in English and Russian. Used by every declaration of a domain."""

from handrail_rpc.localized_text import NOTHING, Text

__all__ = ["NOTHING", "Text"]
