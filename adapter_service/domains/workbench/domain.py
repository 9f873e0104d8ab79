"""The workbench domain in one value: tools, resolvers, the change artifact, planner, workspace, checks of answers (I2,
F4).

Called by the package's entry point `workbench` in `handrail.domains`. Its index of each workspace is a cache below the
domain's folder and is made anew where it is missing.
"""

from __future__ import annotations

import re
from typing import Any, Final

from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.naming import fragments, identities
from adapter_service.domains.workbench.planner import WorkbenchPlanner
from adapter_service.domains.workbench.resolvers import CHECKED_RESOLVERS, holds, resolvers
from adapter_service.domains.workbench.tools_changes import CHANGE_KIND, CHANGE_TOOLS
from adapter_service.domains.workbench.tools_documents import DOCUMENT_TOOLS
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import BaseChanged, Claim, Domain, DomainEnvironment, Text, Workspace, WorkspaceUse

FOLDER_SETTING: Final = "HANDRAIL_WORKBENCH_FOLDER"
# Raised with every change of what a tool may do or who may approve it.
POLICY_VERSION: Final = 1

_CLAIMS: Final = (
    Claim(
        tool="publish_change",
        # As the tool says it; a quoted document may well speak of publishing.
        pattern=re.compile(r"^(?:Published|Опубликовано): \S+ (?:is written to|записан в) ", re.MULTILINE),
    ),
)


def create_domain(environment: DomainEnvironment) -> Domain:
    """The domain; its workspace is the folder of HANDRAIL_WORKBENCH_FOLDER or what a client uploads."""
    index = WorkbenchIndex(environment.data_dir / "workspaces")

    def prepare(workspace: Workspace) -> OpenWorkspace:
        view = index.update(workspace)
        if not view.complete:
            # A document that was saved a moment ago is not gone: nobody is to be asked what it was (C10).
            raise BaseChanged
        return OpenWorkspace(workspace, view)

    return Domain(
        name="workbench",
        title=Text("Workbench", "Рабочий стол"),
        version="1.0.0",
        policy_version=POLICY_VERSION,
        tools=(*DOCUMENT_TOOLS, *CHANGE_TOOLS),
        planner=WorkbenchPlanner(),
        resolvers=resolvers(),
        artifact_kinds=(CHANGE_KIND,),
        identities=identities,
        fragments=fragments,
        claims=_CLAIMS,
        workspace=WorkspaceUse(
            folder_setting=FOLDER_SETTING,
            prepare=prepare,
            documentation_version=_documentation_version,
            resolvers=CHECKED_RESOLVERS,
            holds=holds,
            forget=index.forget,
        ),
    )


def _documentation_version(view: Any) -> str:
    return view.view.documentation_version if isinstance(view, OpenWorkspace) else ""
