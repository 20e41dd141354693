"""What surrounds a run: where it may run and print, what shows it, how an answer ends it."""
