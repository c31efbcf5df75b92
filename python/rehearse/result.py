"""Answers as objects: attributes and items are the keys of the program's JSON, whatever they are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from .table import HEADLINE_KEYS, html_table, text_table, value_text

# Lists that an answer is about, in the order of search.
_MAIN_LISTS = ("plans", "cells", "sizes", "jobs", "cases", "items", "files")


def _wrap(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return Rows(value)
    return value


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The scalars of an object; those of objects inside it have dotted keys. Lists are left out."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            flat.update(_flat(inner, f"{prefix}{key}."))
        elif not isinstance(inner, list):
            flat[prefix + key] = inner
    return flat


def _frame(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "frame() needs pandas, which is not installed: `pip install pandas`; rows() gives the "
            "same table as a list of dictionaries"
        ) from error
    return pandas.DataFrame(rows)


class Record:
    """A JSON object whose keys are attributes and items: `r.mfu_frac` is `r["mfu_frac"]`.

    Keys that have the name of a method are reached as items only.
    """

    __slots__ = ("_data",)

    def __init__(self, data: dict[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__") or key == "_data":
            raise AttributeError(key)
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"the answer has no key {key!r}; it has {', '.join(self._data)}") from None

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError("answers are not changed; to_dict() returns a copy")

    def __getitem__(self, key: str) -> Any:
        return _wrap(self._data[key])

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._data})

    def __reduce__(self) -> tuple:
        return (Record, (self._data,))

    def keys(self) -> list[str]:
        """The keys, in the order of the document."""
        return list(self._data)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self._data else default

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain dictionaries and lists."""
        return json.loads(json.dumps(self._data))

    def rows(self) -> list[dict[str, Any]]:
        """A table of one row: scalars by their dotted keys."""
        return [_flat(self._data)]

    def frame(self) -> Any:
        """The table as a pandas.DataFrame."""
        return _frame(self.rows())

    def _headline(self) -> list[tuple[str, str]]:
        keys = [key for key in HEADLINE_KEYS if key in self._data] or list(self._data)[:6]
        return [(key, value_text(key, self._data[key], self._data)) for key in keys]

    def __repr__(self) -> str:
        return "\n".join(f"{key}: {text}" for key, text in self._headline() if text) or "{}"

    def _repr_html_(self) -> str:
        return html_table(("", ""), [pair for pair in self._headline() if pair[1]])


class Rows(Sequence):
    """A JSON list; objects in it are records."""

    __slots__ = ("_data",)

    def __init__(self, data: list[Any]) -> None:
        self._data = data

    def __getitem__(self, index: Union[int, slice]) -> Any:
        return _wrap(self._data[index])

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return self._data == (other._data if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def to_list(self) -> list[Any]:
        """A copy as plain dictionaries and lists."""
        return json.loads(json.dumps(self._data))

    def rows(self) -> list[dict[str, Any]]:
        """The objects of the list as dictionaries of scalars by their dotted keys."""
        return [_flat(row) if isinstance(row, dict) else {"value": row} for row in self._data]

    def frame(self) -> Any:
        """The table as a pandas.DataFrame."""
        return _frame(self.rows())

    def _table(self, most: int) -> tuple[list[str], list[list[str]]]:
        shown = [row for row in self._data[:most] if isinstance(row, dict)]
        columns = [key for key in HEADLINE_KEYS if any(row.get(key) is not None for row in shown)]
        if shown and not columns:
            columns = list(shown[0])[:6]
        return columns, [[value_text(key, row.get(key), row) for key in columns] for row in shown]

    def _rest(self, most: int) -> str:
        return f"... {len(self) - most} more" if len(self) > most else ""

    def __repr__(self) -> str:
        if not self._data or not isinstance(self._data[0], dict):
            return repr(self._data)
        rest = self._rest(5)
        return text_table(*self._table(5)) + (f"\n{rest}" if rest else "")

    def _repr_html_(self) -> str:
        if not self._data or not isinstance(self._data[0], dict):
            return html_table(("",), [(str(one),) for one in self._data])
        return html_table(*self._table(20), self._rest(20))


class Result(Record):
    """The answer of one run of the program.

    `text` is its JSON as it was printed, `stderr` what it said besides.
    """

    __slots__ = ("text", "stderr")

    def __init__(self, text: str, stderr: str = "") -> None:
        super().__init__(json.loads(text))
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "stderr", stderr)

    def __reduce__(self) -> tuple:
        return (Result, (self.text, self.stderr))

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Write the JSON as `-o FILE.json` does: `explain`, `compare` and `report` read it."""
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(self.text)

    def _main(self) -> Optional[Rows]:
        for key in _MAIN_LISTS:
            value = self._data.get(key)
            if isinstance(value, list) and (not value or isinstance(value[0], dict)):
                return Rows(value)
        return None

    def rows(self) -> list[dict[str, Any]]:
        """The main table: plans, cells or sizes; else one row of the answer's scalars."""
        main = self._main()
        return super().rows() if main is None else main.rows()

    def _title(self) -> str:
        inputs = self._data.get("inputs") or {}
        names = [inputs[key]["name"] for key in ("workload", "platform") if isinstance(inputs.get(key), dict)]
        if not names:
            names = [self._data[key] for key in ("collective", "platform") if isinstance(self._data.get(key), str)]
        command = self._data["argv"][0] if self._data.get("argv") else self._data.get("schema", "answer")
        return f"{command}: {' on '.join(names)}" if names else str(command)

    def _nothing(self) -> str:
        """What is said of an answer whose table is empty."""
        change = self._data.get("smallest_change")
        return f"no rows; the smallest change: {change['change']}, {change['effect']}" if change else "no rows"

    def __repr__(self) -> str:
        main = self._main()
        if main is None:
            return f"{self._title()}\n{super().__repr__()}"
        return f"{self._title()}\n{main if len(main) else self._nothing()}"

    def _repr_html_(self) -> str:
        main = self._main()
        if main is None:
            table = super()._repr_html_()
        else:
            table = main._repr_html_() if len(main) else html_table((self._nothing(),), [])
        return html_table((self._title(),), []) + table
