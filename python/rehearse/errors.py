"""Errors of the program, one class for each exit status that docs/guide/cli.md promises."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .result import Result


@dataclass(frozen=True)
class Place:
    """A position in an input file; lines and columns begin at 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Problem:
    """One `error:` of the program: what is wrong, where, and how to mend it."""

    message: str
    place: Optional[Place] = None
    notes: tuple[str, ...] = field(default=())
    helps: tuple[str, ...] = field(default=())


_HEAD = re.compile(r"(?:\s*= )?(error|note|help|warning): (.*)")
_PLACE = re.compile(r"\s*--> (.+):(\d+):(\d+)$")


def read_problems(text: str) -> tuple[Problem, ...]:
    """Read the `error:` blocks of what the program printed on standard error."""
    found: list[dict] = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head and head[1] == "error":
            found.append({"message": head[2], "place": None, "note": [], "help": []})
        elif not found:
            continue
        elif head and head[1] in ("note", "help"):
            found[-1][head[1]].append(head[2])
        elif not found[-1]["place"] and (place := _PLACE.match(line)):
            found[-1]["place"] = Place(place[1], int(place[2]), int(place[3]))
    return tuple(
        Problem(p["message"], p["place"], tuple(p["note"]), tuple(p["help"])) for p in found
    )


class RehearseError(Exception):
    """Base of all errors of this package.

    `message`, `notes` and `helps` are those of the first problem; `problems` has all of them.
    """

    def __init__(
        self, message: str = "", argv: tuple[str, ...] = (), status: Optional[int] = None, stderr: str = ""
    ) -> None:
        self.problems = read_problems(stderr)
        first = self.problems[0] if self.problems else Problem(message)
        self.message = first.message
        self.notes = first.notes
        self.helps = first.helps
        self.argv = argv
        self.status = status
        self.stderr = stderr
        super().__init__(self.message)

    def __str__(self) -> str:
        lines = []
        for problem in self.problems or (Problem(self.message),):
            lines.append(f"{problem.place}: {problem.message}" if problem.place else problem.message)
            lines += [f"note: {note}" for note in problem.notes]
            lines += [f"help: {text}" for text in problem.helps]
        return "\n".join(lines)


class NoAnswer(RehearseError):
    """The answer is no (exit status 1): nothing fits, a level is missed, or time ran out.

    `result` is the document that the program printed nevertheless, or None.
    """

    result: Optional[Result] = None


class UsageError(RehearseError):
    """The command line is wrong (exit status 2): an option is unknown, missing or has a bad value."""


class InputError(RehearseError):
    """An input file or name is wrong (exit status 3)."""

    def __init__(self, *args, **named) -> None:
        super().__init__(*args, **named)
        self.place = next((p.place for p in self.problems if p.place), None)

    @property
    def file(self) -> Optional[str]:
        """The file of the first problem that has a position."""
        return self.place.file if self.place else None

    @property
    def line(self) -> Optional[int]:
        """The line in `file`, from 1."""
        return self.place.line if self.place else None

    @property
    def column(self) -> Optional[int]:
        """The column in `line`, from 1."""
        return self.place.column if self.place else None


class ProgramError(RehearseError):
    """The program failed: exit status 70 is a bug of rehearse; a negative status is a signal."""


class ProgramNotFound(RehearseError, FileNotFoundError):
    """There is no program `rehearse` to run."""


class TimedOut(RehearseError, TimeoutError):
    """The program was ended because it ran for longer than `kill_after_s`."""


_BY_STATUS = {1: NoAnswer, 2: UsageError, 3: InputError}


def error_of_status(status: int, argv: tuple[str, ...], stderr: str) -> RehearseError:
    """Return the error for an exit status other than 0."""
    kind = _BY_STATUS.get(status, ProgramError)
    if kind is NoAnswer:
        message = f"{argv[0]}: the answer is no"
    elif status < 0:
        message = f"{argv[0]}: the program was ended by signal {-status}"
    else:
        message = f"{argv[0]}: the program ended with exit status {status}"
    return kind(message, argv=argv, status=status, stderr=stderr)
