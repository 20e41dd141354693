"""Tests of the material of opinions and of their answers."""
