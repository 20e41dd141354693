"""What nearly every verb stands on: where it works, who asks, the plan's history and workspace."""
