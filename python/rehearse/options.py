"""Keyword arguments as the words of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any


def _text(name: str, value: Any) -> str:
    """The text of one value of an option."""
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        text = repr(value)
        return text + "s" if name == "timeout" else text
    raise TypeError(f"{name}: a {type(value).__name__} is no value of an option")


def option_name(keyword: str) -> str:
    """The option for a keyword: `global_batch` is --global-batch; `from_` and `from_file` are --from."""
    if keyword == "from_file":
        return "--from"
    return "--" + keyword.rstrip("_").replace("_", "-")


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return the words for keyword arguments.

    True is a flag; None and False leave the option out; a list repeats it; a mapping repeats it
    with KEY=VALUE.
    """
    words: list[str] = []
    for keyword, value in options.items():
        name = option_name(keyword)
        if value is None or value is False:
            continue
        if value is True:
            words.append(name)
            continue
        if isinstance(value, Mapping):
            values = [f"{key}={_text(keyword, one)}" for key, one in value.items()]
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike)):
            values = [_text(keyword, one) for one in value]
        else:
            values = [_text(keyword, value)]
        # NAME=VALUE in one word: a value may begin with a dash.
        words += [f"{name}={one}" for one in values]
    return words
