"""One tool call: claim, run, record. `execute_tool.ExecuteTool` is the use case."""
