"""Plan and simulate training and serving on clusters: the program `rehearse`, from Python.

    import rehearse
    answer = rehearse.plan(workload="llama-3.1-8b", platform="dgx-h100", global_batch=64)
    print(answer.plans[0].step_time_s)

Each function runs a command of the program. Keyword arguments are its options, and keys of its
answers are attributes; `rehearse COMMAND --help` and docs/guide/cli.md list both.
"""

from .commands import (
    calibrate,
    capacity,
    collective,
    explain,
    memory,
    plan,
    run,
    serve_plan,
    serve_simulate,
    simulate,
    validate,
)
from .errors import (
    InputError,
    NoAnswer,
    Place,
    Problem,
    ProgramError,
    ProgramNotFound,
    RehearseError,
    TimedOut,
    UsageError,
)
from .program import find_program, program_version
from .result import Record, Result, Rows

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "NoAnswer",
    "Place",
    "Problem",
    "ProgramError",
    "ProgramNotFound",
    "Record",
    "RehearseError",
    "Result",
    "Rows",
    "TimedOut",
    "UsageError",
    "calibrate",
    "capacity",
    "collective",
    "explain",
    "find_program",
    "memory",
    "plan",
    "program_version",
    "run",
    "serve_plan",
    "serve_simulate",
    "simulate",
    "validate",
]
