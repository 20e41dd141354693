"""Workers: any command line, a person, or an agent with a plan of its own."""
