"""Scripted stand-ins that users of signoff can test their own plans and harnesses with."""
