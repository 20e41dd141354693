"""Tools for models: the `@tool` decorator, and the standard ones."""
