"""The built-in model loop: any model, our tools, and the gate before every final answer."""
