"""Text to Plan and back, byte for byte; static verification; differences between plans. Pure."""
