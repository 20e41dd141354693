"""One function per verb: takes plain values, returns a frozen report, never prints."""
