"""Rows of 'Digests', and of the sentences of 'Further rules' about bytes. Read by rules.py."""

from __future__ import annotations

from tests.soundness.rule import CHANGE, CLAIM, DIGEST, DIGESTS, PREPARE, PUBLISHING, RUN_TOOL, Removal, Rule

ROWS = (
    Rule(
        "explicit_object",
        "Proto JSON is no hash input: only the explicit object is hashed, the scheme's name among its members.",
        f"{DIGEST}::snapshot_fields_from_proto",
        (
            Removal(
                DIGEST,
                "    return sha256_hex(canonical_json(dict(fields)))\n",
                '    return sha256_hex(canonical_json({n: v for n, v in fields.items() if n != "digest_scheme"}))\n',
                (f"{DIGESTS}test_the_hash_covers_the_explicit_object_alone",),
            ),
        ),
    ),
    Rule(
        "normalised_on_entry",
        "Strings are NFC-normalised on entry.",
        f"{DIGEST}::normalise_text",
        (
            Removal(
                DIGEST,
                '    normal = text if text.isascii() else unicodedata.normalize("NFC", text)\n',
                "    normal = text\n",
                (f"{DIGESTS}test_strings_are_normalised_on_entry",),
            ),
        ),
    ),
    Rule(
        "never_normalised_within",
        "Never inside the hash; document content is never normalised.",
        f"{DIGEST}::canonical_json",
        (
            Removal(
                DIGEST,
                "    if _is_plain(value, 0):\n",
                '    value = json.loads(unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False)))\n'
                "    if _is_plain(value, 0):\n",
                (f"{DIGESTS}test_document_content_is_never_normalised[application/json]",),
            ),
            Removal(
                "adapter_service/application/artifact_content.py",
                '        return content.encode("utf-8")\n',
                '        return __import__("unicodedata").normalize("NFC", content).encode("utf-8")\n',
                (f"{DIGESTS}test_document_content_is_never_normalised[text/plain]",),
            ),
        ),
    ),
    Rule(
        "no_canonical_form",
        "Lone surrogates, NaN, Infinity and duplicate keys are refused.",
        f"{DIGEST}::parse_json_strict",
        (
            Removal(
                DIGEST,
                "    if len(found) != len(pairs):\n",
                "    if False:\n",
                (f"{DIGESTS}test_repeated_keys_are_refused",),
            ),
            Removal(
                "adapter_service/convert/observation.py",
                "        value: dict[str, Any] = _normalised(MessageToDict(message))\n",
                "        value: dict[str, Any] = {k: v.number_value for k, v in message.fields.items()}\n"
                "        return value\n",
                (
                    f"{DIGESTS}test_what_has_no_canonical_form_is_refused[not a number]",
                    f"{DIGESTS}test_what_has_no_canonical_form_is_refused[infinite]",
                ),
            ),
        ),
    ),
    Rule(
        "safe_range",
        "Integers beyond 2^53 travel as strings; numbers outside the safe range are refused, never rewritten.",
        f"{DIGEST}::_checked",
        (
            Removal(
                DIGEST,
                "        if abs(value) > SAFE_INTEGER:\n",
                "        if False:\n",
                (
                    f"{DIGESTS}test_numbers_outside_the_safe_range_are_refused_never_rewritten",
                    f"{DIGESTS}test_what_has_no_canonical_form_is_refused[too large]",
                ),
            ),
        ),
    ),
    Rule(
        "canonicalised_once",
        "Canonicalise once, when storing; the hash covers the stored bytes, and the tool receives those bytes.",
        f"{CLAIM}::mismatch",
        (
            Removal(
                CLAIM,
                "    intact = sha256_hex(call.input_bytes) == call.input_sha256\n",
                "    intact = True\n",
                (f"{DIGESTS}test_canonicalised_once_and_the_tool_receives_those_bytes",),
            ),
            Removal(
                RUN_TOOL,
                " or found.sha256 != sha256 or sha256_hex(data) != sha256:\n",
                ":\n",
                (f"{DIGESTS}test_content_of_another_hash_reaches_no_tool",),
            ),
        ),
    ),
    Rule(
        "snapshot_bytes",
        "A snapshot's bytes are stored and forwarded, never rebuilt; what has no digest is never shown.",
        "loop_service/convert/decisions.py::_request_approval",
        (
            Removal(
                "loop_service/convert/decisions.py",
                "        snapshot=snapshot.SerializeToString(),\n",
                "        snapshot=type(snapshot)(\n"
                "            **{f.name: getattr(snapshot, f.name) for f in snapshot.DESCRIPTOR.fields}\n"
                "        ).SerializeToString(),\n",
                (f"{DIGESTS}test_a_snapshot_is_stored_and_forwarded_as_its_bytes",),
            ),
            Removal(
                DIGEST,
                "        if time.nanos % 1000:\n",
                "        if False:\n",
                (f"{DIGESTS}test_a_time_finer_than_microseconds_is_refused_never_rounded",),
            ),
        ),
    ),
    Rule(
        "target_and_base",
        "Target identity and the base's sha256 are members of the hashed final input; change_ref shows that pair.",
        f"{PREPARE}::prepare_input",
        (
            Removal(
                PREPARE,
                '            final["base_sha256"] = tool.base(readable, turn.workspace)\n',
                "            pass\n",
                (
                    f"{PUBLISHING}test_target_and_base_are_hashed_and_shown",
                    f"{PUBLISHING}test_compare_at_write_a_base_that_moved_before_the_call_is_stale_at_once",
                ),
            ),
            Removal(
                CHANGE,
                "    if replaced is not None:\n",
                "    if False:\n",
                (f"{PUBLISHING}test_target_and_base_are_hashed_and_shown",),
            ),
        ),
    ),
)
