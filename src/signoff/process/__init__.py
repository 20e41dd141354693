"""The only room that starts processes: sandboxes, limits, output, the death of whole trees."""
