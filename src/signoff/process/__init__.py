"""The only room that starts processes: limits, output, and the death of whole process trees."""
