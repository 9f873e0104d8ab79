"""The Workflow Loop service: how the cycle runs (requirement A1). Started by `python -m loop_service`."""
