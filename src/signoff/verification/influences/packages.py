"""Pin what a contract runs out of an environment of the workspace: `.venv`, `node_modules`.

An environment that is not there yet may be made. In one that is there, the programs and packages of
the tools that the contract runs stay as they are; other packages come and go. A module of the
workspace with the name of one that pytest brings along is loaded instead of it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from signoff.domain.digests import digest_of
from signoff.process.shell import package_folders
from signoff.verification.ignored import ENVIRONMENT_FILES
from signoff.verification.influences.gathered import (
    COMPILED,
    PRESENT,
    GatheredInfluences,
    ManifestIndex,
    upwards,
)
from signoff.verification.pins import fingerprint

if TYPE_CHECKING:
    from importlib.metadata import PathDistribution

# Loaded before any test by the versions in use, wherever they are installed.
_KNOWN = (
    *("_distutils_hack", "_hypothesis_ftz_detector", "_hypothesis_globals", "argcomplete", "attr"),
    *("attrs", "colorama", "coverage", "exceptiongroup", "execnet", "importlib_metadata"),
    *("packaging", "pkg_resources", "py", "pygments", "setuptools"),
    *("six", "sortedcontainers", "tomli", "typing_extensions", "zipp"),
)
_PROJECT = re.compile(r"[A-Za-z0-9._-]+")
_FOR_EXTRA = re.compile(r"\bextra\s*==")
PLUGINS = b"[pytest11]"


@lru_cache(maxsize=16)
def borrowed_modules(search_path: str) -> frozenset[str]:
    """Names of modules that come with pytest and its plugins, as they are installed there.

    Asked once in a process: what an agent installs meanwhile makes no earlier work a shadow.
    """
    found = set(_KNOWN)
    for folder in package_folders(search_path):
        found |= _brought_with_pytest(folder)
    return frozenset(found)


@lru_cache(maxsize=64)
def _brought_with_pytest(folder: str) -> frozenset[str]:
    installed = _installed(Path(folder))
    plugins = (name for name, info in installed.items() if _is_plugin(info))
    return brought_with(Path(folder), frozenset(("pytest", *plugins)))


def brought_with(folder: Path, roots: frozenset[str]) -> frozenset[str]:
    """Modules of these distributions and of all that they need, as installed in the folder.

    Only what is needed is read: a folder may hold hundreds of packages.
    """
    from importlib.metadata import PathDistribution  # noqa: PLC0415 - reads mail, for pytest only

    installed = _installed(folder)
    ahead = [*roots]
    brought: set[str] = set()
    modules: set[str] = set()
    while ahead:
        name = ahead.pop()
        if name in installed and name not in brought:
            brought.add(name)
            package = PathDistribution(installed[name])
            modules.update(_modules_of(package))
            ahead += _needs(package)
    return frozenset(modules)


def _installed(folder: Path) -> dict[str, Path]:
    return {normal_name(i.stem.partition("-")[0]): i for i in folder.glob("*.dist-info")}


def _is_plugin(info: Path) -> bool:
    try:
        return PLUGINS in (info / "entry_points.txt").read_bytes()
    except OSError:
        return False


def _needs(package: PathDistribution) -> list[str]:
    plain = (line for line in package.requires or () if not _FOR_EXTRA.search(line))
    return [normal_name(found[0]) for line in plain if (found := _PROJECT.match(line))]


def _modules_of(package: PathDistribution) -> Iterator[str]:
    for file in package.files or ():
        name, _, rest = file.parts[0].partition(".")
        is_folder = len(file.parts) > 1 and not rest and name != "__pycache__"
        if name.isidentifier() and (is_folder or rest == "py" or rest.endswith("so")):
            yield name


def normal_name(name: str) -> str:
    """Form of a distribution's name that is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


_STARTUP = ("sitecustomize", "usercustomize")  # whatever an import of these finds
STARTUP_MARK = "start-up"
_ALWAYS = ("python", "python3")
# These look for an environment by themselves.
_FINDS_ONE = re.compile(
    r"\b(?:uvx?|poetry|pdm|hatch|pipenv|rye|pixi|tox|nox|conda|mamba|micromamba)\b"
)
_NODE = re.compile(r"\b(?:npm|npx|yarn|pnpm|bunx?|node_modules)\b")
_SHIM_LEADS_TO = re.compile(rb"\$basedir/((?:\.\./)+[^\"'\s]+)")
_NODE_FOLDER = "node_modules"
_VENDORED = re.compile(r"(?:^|.*/)vendor/(?:bin/)?(?=[^/]+$)")


def pin_environments(known: GatheredInfluences) -> None:
    """Pin what the tools of the contract consist of, in environments of the workspace."""
    for folder in environments(known):
        if is_used(folder, known):
            _pin_python(folder, known)
    on_path = f"/{_NODE_FOLDER}/.bin" in known.search_path
    if on_path or any(_NODE.search(text) for text, _ in known.texts):
        _pin_node(known)
    for path in [p for p in known.pinned if _VENDORED.match(p)]:
        _pin_tree(f"{path.rpartition('vendor/')[0]}vendor/{posixpath.basename(path)}", known)


def environments(known: GatheredInfluences) -> list[str]:
    """Environments in the workspace, by the file that makes a folder one."""
    folders = (
        path.removesuffix(f"/{file}")
        for file in ENVIRONMENT_FILES
        for path in known.content.anywhere(posixpath.basename(file))
        if path.endswith(f"/{file}")
    )
    return [*folders, *known.content.ignored_environments()]


def is_used(environment: str, known: GatheredInfluences) -> bool:
    """True when the contract can start an interpreter of the environment, as far as can be seen."""
    name = posixpath.basename(environment)
    on_path = f"/{environment}/bin" in known.search_path
    return on_path or any(name in t or _FINDS_ONE.search(t) for t, _ in known.texts)


def _pin_python(environment: str, known: GatheredInfluences) -> None:
    known.pin_installed(f"{environment}/pyvenv.cfg")
    # What tox and nox run is not seen; most run this.
    tools = known.tools if known.tools.isdisjoint(("tox", "nox")) else {*known.tools, "pytest"}
    for name in sorted({*tools, *_ALWAYS}):
        _pin_program(f"{environment}/bin/{name}", known)
    for packages in _package_folders(environment, known):
        found = known.content.listed(packages)
        runs = digest_of(startup_code(packages, known.content))
        known.pinned[f"{packages}#{STARTUP_MARK}"] = known.as_installed(runs)
        _pin_caches(packages, known, below=False)
        plugins = _plugins(packages, found, known) if "pytest" in tools else {}
        if "pytest" in tools:
            known.pinned[f"{packages}#pytest11"] = known.as_installed(digest_of(plugins))
        roots = {normal_name(t) for t in tools if not _is_own(t, known)} | {*plugins}
        for module in sorted(brought_with(known.content.on_disk(packages), frozenset(roots))):
            if not _is_own(module, known):
                _pin_module(packages, module, found, known)


def _is_own(name: str, known: GatheredInfluences) -> bool:
    """True for the project itself, installed: that is the work."""
    module = name.replace("-", "_")
    places = (f"{top}{module}{end}" for top in ("", "src/") for end in (".py", "/__init__.py"))
    return any(map(known.content.is_source, places))


def _package_folders(environment: str, known: GatheredInfluences) -> Iterator[str]:
    for name in ("lib", "lib64"):
        for lib in known.content.listed(f"{environment}/{name}"):
            if lib.startswith(("python", "pypy")):
                yield f"{environment}/{name}/{lib}/site-packages"


def startup_code(packages: str, content: ManifestIndex) -> dict[str, str]:
    """Code that an interpreter runs at its start: a path file runs its lines that import."""
    runs: dict[str, str] = {}
    for name in content.listed(packages):
        path = f"{packages}/{name}"
        data = content.read(path) if name.endswith((".py", ".pth")) else None
        text = None if data is None else data.decode("utf-8", "replace")
        if name.partition(".")[0] in _STARTUP:
            files = content.tree(path).items()
            runs[name] = text or digest_of({p: fingerprint(state) for p, state in files})
        elif name.endswith(".pth"):
            lines = ["import what is too large to be read"] if text is None else text.splitlines()
            code = [line for line in lines if line.startswith(("import ", "import\t"))]
            if code:
                runs[name] = "\n".join(code)
    return runs


def _plugins(
    packages: str, names: list[str], known: GatheredInfluences
) -> dict[str, list[list[str]]]:
    """Distribution → the plugins that it announces to pytest."""
    import configparser  # noqa: PLC0415 - for pytest only

    found: dict[str, list[list[str]]] = {}
    for name in names:
        data = None
        if name.endswith((".dist-info", ".egg-info")):
            data = known.content.read(f"{packages}/{name}/entry_points.txt")
        if data is None or PLUGINS not in data:
            continue
        parsed = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        try:
            parsed.read_string(data.decode("utf-8", "replace"))
            entries = sorted(map(list, parsed.items("pytest11")))
        except configparser.Error:
            entries = [[data.hex()]]
        found[normal_name(name.rpartition(".")[0].partition("-")[0])] = entries
    return found


def _pin_module(packages: str, module: str, names: list[str], known: GatheredInfluences) -> None:
    """Everything that an import of the module could find there, under one name."""
    files = [n for n in names if n == module or n.partition(".")[0] == module]
    seen = {path: fp for name in files for path, fp in _tree(f"{packages}/{name}", known).items()}
    if seen:
        known.pinned[f"{packages}/{module}"] = known.as_installed(digest_of(seen))
        _pin_caches(f"{packages}/{module}", known)


def _pin_node(known: GatheredInfluences) -> None:
    """Programs of node packages that the contract runs, and the packages that they belong to."""
    folders = {place for _, folder in known.texts for place in upwards(folder)}
    folders.update(posixpath.dirname(posixpath.dirname(front)) for front in known.in_front)
    for folder in sorted(folders):
        modules = posixpath.join(folder, _NODE_FOLDER)
        for tool in sorted(known.tools | known.called):
            end = _pin_program(f"{modules}/.bin/{tool}", known)
            package = _package_of(end) if end else ""
            if package:
                _pin_package(modules, package, known)


def _pin_program(path: str, known: GatheredInfluences) -> str:
    """Pin a program, and the links on the way to it; returns where they lead."""
    if not known.content.has(path):
        return ""
    links, end = known.content.trace(path)
    for part in (*links, end):
        # What a monorepo links into its own environment is the work.
        if _NODE_FOLDER in part.split("/") or not known.content.is_source(part):
            known.pin_installed(part)
    shim = _SHIM_LEADS_TO.search(known.content.read(end) or b"")
    if shim is None:
        return end
    target = shim[1].decode("utf-8", "replace")
    return known.content.trace(posixpath.normpath(f"{posixpath.dirname(end)}/{target}"))[1]


def _package_of(path: str) -> str:
    """The name of the node package that a file belongs to."""
    _, found, rest = path.rpartition(f"{_NODE_FOLDER}/")
    parts = rest.split("/")
    if not found or parts[0].startswith("."):
        return ""
    return "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]


def _pin_package(modules: str, package: str, known: GatheredInfluences) -> None:
    """The package, and what is installed beside it under the same name or scope."""
    stem = package.lstrip("@").partition("/")[0].partition("-")[0]
    beside = [n for n in known.content.listed(modules) if n.partition("-")[0] == stem]
    scope = [f"@{stem}/{n}" for n in known.content.listed(f"{modules}/@{stem}")]
    for name in sorted({package, *beside, *scope}):
        if not name.startswith("@") or "/" in name:
            _pin_tree(f"{modules}/{name}", known)


def _pin_tree(folder: str, known: GatheredInfluences) -> None:
    seen = _tree(folder, known)
    if seen:
        known.pinned.setdefault(folder, known.as_installed(digest_of(seen)))
        _pin_caches(folder, known)


def _pin_caches(folder: str, known: GatheredInfluences, *, below: bool = True) -> None:
    found = known.content.caches(folder, below=below)
    known.pinned.update({path: f"{COMPILED}{seen}" for path, seen in found.items()})


def _tree(path: str, known: GatheredInfluences) -> dict[str, str]:
    """All files below a path that are not pinned by themselves."""
    found = known.content.tree(path).items()
    return {p: fingerprint(s) for p, s in found if known.pinned.get(p, PRESENT) == PRESENT}
