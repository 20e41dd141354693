"""Legitimate ways of working: each must be signed off, and kept by an audit."""
