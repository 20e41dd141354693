"""Recovery: what kind of failure it is, how often it came, and a concrete way on."""
