"""Data classes and patterns as in the standard library, made when they are first needed.

Python writes and compiles six methods per data class at import; a short command makes instances of
one class in five. On the way to `signoff status` that was a third of the time. Here a class waits
until an instance is made or its fields are asked for, and then only `__init__` is compiled; and a
regular expression waits until it is used.
"""

from __future__ import annotations

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than this whole file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - checkers see the real one

    regex = re.compile
else:
    import dataclasses
    from operator import attrgetter
    from threading import RLock

    class regex:  # noqa: N801 - called like `re.compile`
        """A regular expression that is compiled when it is first used."""

        def __init__(self, text, flags=0):
            self._given = text, flags

        def __getattr__(self, name):
            import re  # noqa: PLC0415 - not before it is needed

            found = getattr(re.compile(*self._given), name)
            self.__dict__[name] = found
            return found

    _FIELDS = "__dataclass_fields__"
    _LOCK = RLock()

    class _Unfinished:
        """Stands for the fields of a class until somebody asks for them."""

        def __init__(self, finish):
            self.finish = finish

        def __get__(self, _instance, owner):
            self.finish()
            return getattr(owner, _FIELDS)

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """Defer `dataclasses.dataclass` until an instance is made, loaded or asked about."""

        def decorate(cls):
            if slots or "__init__" in vars(cls):
                return dataclasses.dataclass(cls, frozen=frozen, eq=eq, slots=slots)
            return _deferred(cls, frozen, eq)

        return decorate if cls is None else decorate(cls)

    def _deferred(cls, frozen, eq):
        finished = False

        def finish():
            nonlocal finished
            with _LOCK:
                if not finished:
                    _finish(cls, frozen, eq)
                    finished = True

        def first_init(self, *args, **kwargs):
            finish()
            cls.__init__(self, *args, **kwargs)

        def set_state(self, state):
            finish()  # a copied or unpickled instance never was initialised
            self.__dict__.update(state)

        cls.__init__ = first_init
        cls.__setstate__ = set_state
        setattr(cls, _FIELDS, _Unfinished(finish))
        return cls

    def _finish(cls, frozen, eq):
        """Give a class its methods; `__init__` comes last, until then other threads wait."""
        own = set(vars(cls))
        cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is inspected to invent one
        dataclasses.dataclass(cls, init=False, repr=False, eq=False)  # the fields alone
        fields = dataclasses.fields(cls)
        made = {"__repr__": _repr([f.name for f in fields if f.repr])}
        if eq:
            made["__eq__"] = _eq(_getter([f.name for f in fields if f.compare]))
            hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            made["__hash__"] = _hash(_getter(hashed)) if frozen else None
        if frozen:
            names = frozenset(f.name for f in fields)
            made["__setattr__"], made["__delattr__"] = _guards(cls, names)
        for name, method in made.items():
            if name not in own or (name == "__hash__" and vars(cls)[name] is None):
                setattr(cls, name, method)
        cls.__init__ = _init(cls, fields, frozen)

    def _getter(names):
        if len(names) > 1:
            return attrgetter(*names)
        return lambda self: tuple(getattr(self, name) for name in names)

    def _repr(names):
        def shown(self):
            values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({values})"

        return shown

    def _eq(values):
        def equals(self, other):
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        return equals

    def _hash(values):
        return lambda self: hash(values(self))

    def _guards(cls, names):
        def set_attribute(self, name, value):
            if type(self) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def delete_attribute(self, name):
            if type(self) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return set_attribute, delete_attribute

    def _init(cls, fields, frozen):
        """Compile the one method that has to be fast and to name its arguments."""
        unset = dataclasses.MISSING
        known = {"SET": object.__setattr__, "UNSET": unset}  # no field is written in capitals
        arguments, lines = ["self"], []
        for f in sorted(fields, key=lambda f: f.kw_only):
            made = f.default_factory is not unset
            default = f"DEFAULT_{f.name}"
            known[default] = f.default_factory if made else f.default
            value = f"{default}() if {f.name} is UNSET else {f.name}" if made else f.name
            if not f.init:
                value = f"{default}()" if made else default
            if f.kw_only and "*" not in arguments:
                arguments.append("*")
            if f.init:
                optional = "=UNSET" if made else f"={default}" if f.default is not unset else ""
                arguments.append(f"{f.name}{optional}")
            if f.init or known[default] is not unset:
                line = f"SET(self, '{f.name}', {value})" if frozen else f"self.{f.name} = {value}"
                lines.append(line)
        lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
        exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), known)
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]
