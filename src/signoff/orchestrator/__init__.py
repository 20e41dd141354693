"""The durable drive of a run; the only room that knows the engine."""
