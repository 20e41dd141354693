"""Opinions: the material that a model is shown, and the answer that it may give."""
