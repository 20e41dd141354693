"""The tool-batch runtime: a plan derived from the task, recovery, steering, undo.

Usable by itself, around any model and any tools:

    from hashlib import sha256
    from pathlib import Path
    from signoff.toolbatch.calls import CallResult, propose
    from signoff.toolbatch.opening import open_runner
    from signoff.toolbatch.pipeline import BatchEnding

    def execute(call):
        if call.tool == "write":
            content = call.arguments["content"].encode()
            (root / call.arguments["path"]).write_bytes(content)
            return CallResult("written", ok=True, writes={call.target: sha256(content).hexdigest()})
        return CallResult((root / call.arguments["path"]).read_text(), ok=True)

    root = Path("work")
    runner = open_runner(root, execute, "Create `a.md` and `b.md`.")
    batch = [propose("1", "write", {"path": "a.md", "content": "# A"}, root=root)]
    result = runner.run(batch)
    print(result.ending is BatchEnding.CONTINUE, result.steering.next_action.target)  # True b.md

`execute` carries out one call; looks may come from several threads.
"""
