"""A plan's work on its way into the base: judged on merged content, and whether it is there."""
