"""`handrail conformance`: drives any DomainAdapterService through the decision protocol, rule by rule."""
