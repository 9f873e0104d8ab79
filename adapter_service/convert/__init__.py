"""The one place where generated messages and domain data are turned into each other. Called by transport."""
