"""The labelled requests, how they are played and scored: `handrail eval`. Called by gateway.cli.main."""
