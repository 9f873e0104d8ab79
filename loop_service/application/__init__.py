"""Use cases of the Loop, one module each; called by transport and worker through the composition root."""
