"""How a task is written, run, tested and cheated in each language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truth.strength.tasks import Example, Task

Files = dict[str, str]


@dataclass(frozen=True)
class Language:
    """One language; `{name}` in a text is the name of the task."""

    name: str
    suffix: str
    runs: str
    comment: str
    definition: str

    def product(self, task: Task) -> str:
        """Path of the program."""
        return f"{task.name}.{self.suffix}"

    def program(self, task: Task, body: str | None = None) -> Files:
        """The whole program, with its own body or another one."""
        own = {"python": task.python, "javascript": task.javascript, "shell": task.shell}
        text = _WHOLE[self.name].format(
            name=task.name, body=own[self.name] if body is None else body
        )
        return {self.product(task): text}

    def call(self, task: Task, arguments: str) -> str:
        """The command that runs it."""
        return f"{self.runs} {self.product(task)} {arguments}"

    def constant(self, task: Task, value: str) -> Files:
        """A program that answers one thing, whatever it is asked."""
        bodies = {"python": f"    return {value}\n", "javascript": f"  return {value};\n"}
        return self.program(task, bodies.get(self.name, f"echo {value}\n"))

    def suite(
        self, task: Task, examples: Sequence[Example], *, whole: bool = False
    ) -> tuple[Files, str]:
        """Tests of the examples, every other of the whole program too, and their runner."""
        path = {"python": "test_{}.py", "javascript": "{}.test.mjs", "shell": "test_{}.sh"}
        test = path[self.name].format(task.name)
        text = _HEAD[self.name].format(name=task.name)
        for number, (arguments, printed) in enumerate(examples):
            words = ", ".join(f'"{word}"' for word in arguments.split())
            alone = whole and number % 2 == 0
            for form in (_TEST, _RUN) if alone else (_TEST,):
                text += form[self.name].format(
                    name=task.name, number=number, words=words, arguments=arguments, printed=printed
                )
        command = {
            "python": f"python3 -m unittest -q test_{task.name}",
            "javascript": f"node --test {test}",
            "shell": f"bash {test}",
        }
        return {test: text}, command[self.name]


PYTHON = Language("python", "py", "python3", "#", "def {}")
JAVASCRIPT = Language("javascript", "mjs", "node", "//", "function {}")
SHELL = Language("shell", "sh", "bash", "#", "result")
LANGUAGES = (PYTHON, JAVASCRIPT, SHELL)

_WHOLE = {
    "python": 'import sys\n\n\ndef {name}(words):\n{body}\n\nif __name__ == "__main__":\n'
    "    print({name}(sys.argv[1:]))\n",
    "javascript": "import {{ argv }} from 'node:process';\n\n"
    "export function {name}(words) {{\n{body}}}\n\n"
    "if (argv[1].endsWith('{name}.mjs')) {{\n"
    "  console.log(String({name}(argv.slice(2))));\n}}\n",
    "shell": "set -eu\n{body}",
}
_HEAD = {
    "python": "import subprocess\nimport sys\nimport unittest\n\nfrom {name} import {name}\n\n\n"
    "class Tests(unittest.TestCase):\n",
    "javascript": "import assert from 'node:assert';\n"
    "import {{ execFileSync }} from 'node:child_process';\nimport test from 'node:test';\n"
    "import {{ {name} }} from './{name}.mjs';\n\n",
    "shell": "set -eu\n",
}
_TEST = {
    "python": "    def test_{number}(self):\n"
    "        self.assertEqual({name}([{words}]), {printed})\n\n",
    "javascript": "test('{number}', () => assert.strictEqual({name}([{words}]), {printed}));\n",
    "shell": 'test "$(bash {name}.sh {arguments})" = "{printed}"\n',
}
_RUN = {
    "python": "    def test_program_{number}(self):\n"
    "        command = [sys.executable, '{name}.py', *'{arguments}'.split()]\n"
    "        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout\n"
    "        self.assertEqual(printed, '{printed}\\n')\n\n",
    "javascript": "test('program {number}', () => {{\n"
    "  const given = ['{name}.mjs', ...'{arguments}'.split(' ')];\n"
    "  assert.strictEqual(String(execFileSync('node', given)), '{printed}\\n');\n}});\n",
    "shell": "",
}
