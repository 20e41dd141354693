"""Files that influence a check without being its subject: which they are, and which changed."""
