"""The Domain Adapter service: plans, policy, tools, artifacts, validation and final tool inputs. It knows no cycle."""
