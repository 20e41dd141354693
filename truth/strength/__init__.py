"""Weak and good contracts as data: what is there, the honest work, and for weak ones the cheat."""
