"""The nouns of signoff: frozen values without any input or output."""
