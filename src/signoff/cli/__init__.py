"""The command line: arguments in, a use case called, a report shown."""
