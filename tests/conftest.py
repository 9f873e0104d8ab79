"""What holds for every test: a property is judged by what it finds, never by how long one example took."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("handrail", deadline=None)
settings.load_profile("handrail")
