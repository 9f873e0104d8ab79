"""The sentences of docs/workbench.md lead to the tools that stand beside them, and its mapping is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from adapter_service.domains.workbench.mapping import read_mapping
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from tests.unit.workbench_planner.reading import propose
from tests.unit.workbench_planner.test_requests import DRAFT

TEXT = (Path(__file__).parents[3] / "docs" / "workbench.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.endswith("` |")]
SENTENCES = [(sentence, row[3].strip("`")) for row in ROWS for sentence in row[1:3]]


def test_the_table_was_found() -> None:
    assert len(SENTENCES) > 40


@pytest.mark.parametrize(("sentence", "tool"), SENTENCES)
def test_a_sentence_leads_to_its_tool(workspace: OpenWorkspace, sentence: str, tool: str) -> None:
    on_draft = tool.endswith("_change") and tool != "draft_change"
    assert [task.tool for task in propose(sentence, workspace, DRAFT if on_draft else None).tasks] == [tool]


def test_the_mapping_of_the_text_is_a_mapping() -> None:
    block = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    rules = read_mapping("handrail-workbench.yaml", yaml.safe_load(block.group(1)))
    assert not rules.findings
