"""Removals of the comparisons that workspaces make, for rows of rows_action.py."""

from __future__ import annotations

from tests.soundness.rule import Removal

WORKSPACES = "tests/grpc/adapter/test_adapter_changed_workspaces.py::"
FOLDERS = "tests/unit/adapter/test_workspace_folder.py::"

COMPARED_AT_WRITE = (
    Removal(
        "adapter_service/storage/workspace_folder.py",
        "                if current is None or current[1] != expected_sha256:\n                    raise BaseChanged\n",
        "",
        (
            f"{FOLDERS}test_an_edit_right_before_the_rename_is_not_overwritten",
            f"{WORKSPACES}test_an_edit_between_the_claim_and_the_write_is_not_overwritten",
        ),
    ),
    Removal(
        "adapter_service/application/workspace/uploaded.py",
        '        if (before.sha256 if before is not None else "") != expected_sha256:\n            raise BaseChanged\n',
        "",
        (f"{WORKSPACES}test_a_publication_to_an_upload_that_moved_is_stale",),
    ),
)
READ = (
    Removal(
        "adapter_service/application/read_set.py",
        "return _session_workspace(tx, validation) if workspace_sha256 is None else workspace_sha256",
        "return read.version",
        (
            f"{WORKSPACES}test_an_upload_between_decision_and_claim_is_seen_by_the_claim",
            f"{WORKSPACES}test_a_validation_that_read_the_workspace_ends_with_it",
        ),
    ),
)
