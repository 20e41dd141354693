"""The plans of a vault as a whole: their census, and their health."""
