"""Clients that agents work in: their files, which install changes, and their connections."""
