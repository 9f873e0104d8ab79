"""One decision: load, apply the observation, resolve, find the next step, store. `decide.Decide` is the use case."""
