"""Data classes whose methods are written late behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field

import pytest

from signoff.lazy import dataclass


@dataclass(frozen=True)
class Point:
    """A place on a plane."""

    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Named(Point):
    """A place with a name."""

    name: str = ""


@dataclass
class Counter:
    """Something that can be changed."""

    n: int = 0


def test_fields_are_known_before_there_is_an_instance() -> None:
    assert [f.name for f in dataclasses.fields(Named)] == ["x", "y", "notes", "name"]
    assert dataclasses.is_dataclass(Counter)


def test_instances_compare_hash_show_and_change_as_usual() -> None:
    point = Named(1, 2, name="a")
    assert point == Named(1, 2, ["other"], "a") and hash(point) == hash(Named(1, 2, name="a"))
    assert repr(point).endswith("Named(x=1, y=2, notes=[], name='a')")
    assert dataclasses.replace(point, y=3).y == 3
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_unpickled_instances_are_equal(again: type) -> None:
    assert again(Named(1, name="b")) == Named(1, name="b")


def test_threads_that_make_the_first_instance_together_all_get_one() -> None:
    for _ in range(50):
        seen: list[int] = []
        make = _maker(seen, threading.Barrier(4))
        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [1] * 4


def _maker(seen: list[int], start: threading.Barrier) -> Callable[[], None]:
    @dataclass(frozen=True)
    class Made:
        x: int

    def make() -> None:
        start.wait()
        seen.append(Made(1).x)

    return make
