"""`dataclass` as in the standard library, with its methods written when they are first needed.

Python compiles six methods per data class at import; a short command makes instances of one class
in four. On the way to `signoff status` that was a third of the time.
"""

from __future__ import annotations

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than this whole file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - checkers see the real one
else:
    import dataclasses
    from threading import RLock

    _FIELDS = "__dataclass_fields__"
    _LOCK = RLock()

    class _Unfinished:
        """Stands for the fields of a class until somebody asks for them."""

        def __init__(self, finish):
            self.finish = finish

        def __get__(self, _instance, owner):
            self.finish()
            return getattr(owner, _FIELDS)

    def dataclass(cls=None, /, **options):
        """Defer `dataclasses.dataclass` until an instance is made, loaded or asked about."""

        def decorate(cls):
            if options.get("slots") or "__init__" in cls.__dict__:
                return dataclasses.dataclass(cls, **options)
            return _deferred(cls, options)

        return decorate if cls is None else decorate(cls)

    def _deferred(cls, options):
        finished = False

        def finish():
            nonlocal finished
            with _LOCK:
                if not finished:
                    _write_methods(cls, options)
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

    def _write_methods(cls, options):
        cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is inspected to invent one
        dataclasses.dataclass(cls, init=False, **options)
        # From a class below it, put in place at once: another thread sees the deferring method or
        # the real one, never none.
        own = {"__doc__": cls.__doc__, "__qualname__": cls.__qualname__}
        below = type(cls)(cls.__name__, (cls,), own)
        dataclasses.dataclass(below, repr=False, eq=False, frozen=options.get("frozen", False))
        cls.__init__ = below.__init__
