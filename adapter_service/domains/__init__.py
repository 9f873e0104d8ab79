"""Built-in domains. Each is found through the entry point group `handrail.domains` and imports the SDK only."""
