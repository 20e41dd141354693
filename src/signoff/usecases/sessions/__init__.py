"""An agent's session: opened and judged, its calls run and watched, its work read to be signed."""
