"""What every detector has: a name, a meaning, its signals and how sure it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from .events import Event, Kind
from .scene import Scene


class Detector(ABC):
    """Finds one kind of friction. Its docstring says what the kind means to a person."""

    kind: Kind
    exact: str = ""
    """Signals the client itself writes: confidence 1 or close to it."""
    heuristics: str = ""
    """Signals that are read between the lines, each with its confidence."""

    @abstractmethod
    def find(self, scene: Scene) -> Iterator[Event]:
        """The events of one conversation, in any order."""

    @property
    def meaning(self) -> str:
        return (self.__doc__ or "").strip()
