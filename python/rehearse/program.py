"""Finding the program `rehearse`, and running it as a child process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional

from .errors import ProgramError, ProgramNotFound, TimedOut

_GRACE_S = 3.0  # between asking the program to end and ending it


def find_program() -> str:
    """Return the path of the program.

    It is what the environment variable REHEARSE names, else build/rehearse of the source tree that
    this package lies in, else the first `rehearse` on PATH.
    """
    named = os.environ.get("REHEARSE")
    if named:
        found = shutil.which(named)
        if not found:
            raise ProgramNotFound(f"REHEARSE={named}: there is no such program")
        return found
    tree = Path(__file__).resolve().parents[2]
    built = tree / "build" / "rehearse"
    if (tree / "CMakeLists.txt").is_file() and os.access(built, os.X_OK):
        return str(built)
    found = shutil.which("rehearse")
    if not found:
        raise ProgramNotFound(
            "there is no program rehearse: set REHEARSE to its path, build it in the source tree, "
            "or put it on PATH"
        )
    return found


def program_version() -> str:
    """Return the version that the program states, such as "0.1.0"."""
    status, out, err = run_program(("--version",))
    words = out.split()
    if status != 0 or len(words) < 2:
        raise ProgramError("the program states no version", ("--version",), status, err)
    return words[1]


def _end(child: subprocess.Popen) -> None:
    """End the child, which ends its own workers when it is asked to."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()
    child.wait()


def run_program(words: tuple[str, ...], kill_after_s: Optional[float] = None) -> tuple[int, str, str]:
    """Run the program with `words`; return its exit status and what it printed.

    The child does not outlive the call: Ctrl-C and every other exception end it.
    """
    child = subprocess.Popen(
        [find_program(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        out, err = child.communicate(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        _end(child)
        raise TimedOut(f"{words[0]}: ended after {kill_after_s:g} s", words) from None
    except BaseException:
        _end(child)
        raise
    return child.returncode, out, err
