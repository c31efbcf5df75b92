"""One function for each command of the program that answers a question."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Optional, Union

from .errors import NoAnswer, error_of_status
from .options import option_words
from .program import run_program
from .result import Result


def run(
    command: str, *operands: str, check: bool = True, kill_after_s: Optional[float] = None, **options: Any
) -> Result:
    """Run any command that has --json, and return its answer.

    Keyword arguments are options of the command: `global_batch=64` is --global-batch 64, a list
    repeats an option, True is a flag, `set={"nodes": 4}` is --set nodes=4, and `from_` is --from.

    When the answer is no, NoAnswer is raised, or with `check=False` the document is returned that
    the program printed. A program that runs for longer than `kill_after_s` is ended, and TimedOut
    is raised; `timeout="30s"` is the option of the program, which then answers with what it knows.
    """
    options.pop("json", None)
    words = (command, *operands, *option_words(options), "--json")
    status, out, err = run_program(words, kill_after_s)
    result = Result(out, err) if status in (0, 1) and out.lstrip().startswith("{") else None
    if result is not None and (status == 0 or not check):
        return result
    error = error_of_status(status, words, err)
    if isinstance(error, NoAnswer):
        error.result = result
    raise error


def plan(**options: Any) -> Result:
    """How should a model be trained here? `plans` are the best layouts, the first one wins."""
    return run("plan", **options)


def simulate(**options: Any) -> Result:
    """What happens in a training step of exactly this layout (`strategy="tp2,pp2"`)?"""
    return run("simulate", **options)


def serve_plan(**options: Any) -> Result:
    """How should a model be served here? `plans` are the best deployments."""
    return run("serve-plan", **options)


def serve_simulate(**options: Any) -> Result:
    """What do the requests of a service live through?"""
    return run("serve-simulate", **options)


def capacity(**options: Any) -> Result:
    """Which cluster, how much of it, by when, for how much? `cells` are the choices."""
    return run("capacity", **options)


def memory(**options: Any) -> Result:
    """Will a model fit, and how much more would? With `serve=True` for serving."""
    return run("memory", **options)


def collective(operation: str, **options: Any) -> Result:
    """What bandwidth should an all-reduce or another operation reach? `sizes` are its rows."""
    return run("collective", operation, **options)


def validate(**options: Any) -> Result:
    """How far off are the predictions? `cases` of a log or a table are compared one by one."""
    return run("validate", **options)


def calibrate(*files: str, **options: Any) -> Result:
    """What are this machine's real numbers? `output` is the profile that other commands take."""
    return run("calibrate", *files, **options)


def explain(answer: Union[Result, str, os.PathLike], rank: Optional[int] = None, **options: Any) -> Result:
    """Where does a number of a plan or a simulation come from, and what would change it?

    `answer` is a result of `plan` or `simulate`, or the path of a file that holds one; `rank` is
    the row of a plan.
    """
    row = "" if rank is None else f"#{rank}"
    if not isinstance(answer, Result):
        return run("explain", os.fspath(answer) + row, **options)
    with tempfile.TemporaryDirectory(prefix="rehearse-") as folder:
        path = os.path.join(folder, "answer.json")
        answer.save(path)
        return run("explain", path + row, **options)
