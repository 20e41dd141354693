"""Hostile agents; every module is a group."""
