"""Clients that agents work in: their files, which install changes, and the seats they take."""
