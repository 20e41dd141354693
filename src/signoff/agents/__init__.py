"""Who does the work: any command line, or a person."""
