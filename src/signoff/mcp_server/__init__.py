"""The door for agents anywhere: `signoff mcp`, the plan tools over MCP, on stdio or loopback HTTP.

    server.serve_stdio(tools) · http.serve_http(tools, address, token, tell)

No tool approves, answers the inbox or edits a plan of a person: those are not there. What speaks
HTTP is loaded only by who serves it.
"""
