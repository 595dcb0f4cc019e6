"""Properties that are worked out on first use and kept with their object."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """A property whose value is put into the object's `__dict__` once it is complete.

    Without a lock, unlike `functools.cached_property` before Python 3.12, whose one lock for all
    objects would let an event loop wait for what a thread is building: two threads may both work
    a value out, and either finds it complete or not at all.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self._name = ""
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "Kept[Value]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> "Kept[Value] | Value":
        if instance is None:
            return self
        value = self._make(instance)
        vars(instance)[self._name] = value
        return value


def is_kept(instance: object, name: str) -> bool:
    """Whether a kept property has been worked out already."""
    return name in vars(instance)
