"""One reading of shell commands: what a text runs, where, and what it reads and writes."""
