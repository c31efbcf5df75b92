"""Small tables of an answer, for terminals and notebooks. They round; the answer does not."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

# Keys that are shown of an object that has them, in this order.
HEADLINE_KEYS = (
    "rank",
    "name",
    "platform",
    "gpus_count",
    "dtype",
    "global_batch",
    "deployment",
    "layout",
    "bytes",
    "time_s",
    "algorithm",
    "bus_bytes_per_s",
    "metric",
    "measured",
    "predicted",
    "unit",
    "step_time_s",
    "error_frac",
    "mfu_frac",
    "memory_peak_bytes",
    "rate_max_per_s",
    "request_rate_per_s",
    "ttft_s",
    "tpot_s",
    "e2e_s",
    "seconds",
    "usd",
    "binds",
    "reason",
)

_LAYOUT_DEGREES = ("tp", "pp", "dp", "cp", "ep", "vpp")
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s"))


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    for scale, unit in units:
        if abs(value) >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} {units[-1][1]}"


def _layout_text(layout: dict[str, Any]) -> str:
    words = [f"{key}{layout[key]}" for key in _LAYOUT_DEGREES if layout.get(key, 1) != 1]
    if "microbatch" in layout:
        words.append(f"mb{layout['microbatch']}")
    if layout.get("zero"):
        words.append(f"zero{layout['zero']}")
    if layout.get("recompute", "none") != "none":
        words.append(f"recompute={layout['recompute']}")
    return ",".join(words) or "one GPU"


def value_text(key: str, value: Any, of: Any = ()) -> str:
    """The value of a key in few characters; its unit is that of the key's ending.

    `of` is the object that has the key: beside a measurement an error has a sign, else it is that
    of an error bar.
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        if key == "layout":
            return _layout_text(value)
        if "p50" in value and "p99" in value:
            return f"p50 {value_text(key, value['p50'])}, p99 {value_text(key, value['p99'])}"
        return f"{len(value)} keys"
    if isinstance(value, list):
        return f"{len(value)} entries"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if key.endswith("bytes_per_s"):
        return _scaled(value, _RATES)
    if key.endswith("_per_s"):
        return f"{value:.4g}/s"
    if key.endswith("bytes"):
        return _scaled(value, _BYTES)
    if key == "seconds":
        return f"{value / 86400:.4g} days" if value >= 86400 else _scaled(value, _TIMES)
    if key.endswith("_s"):
        return _scaled(value, _TIMES)
    if key == "error_frac":
        return f"{100 * value:+.3g} %" if "measured" in of else f"±{100 * value:.3g} %"
    if key.endswith("_frac"):
        return f"{100 * value:.3g} %"
    if key == "usd" or key.endswith("_usd"):
        return f"${value:,.2f}"
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, separated by two blanks."""
    lines = [list(columns), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """A table whose every text is escaped; a line below it says what is left out."""
    parts = ["<table>"]
    if any(columns):
        parts.append("<tr>" + "".join(f"<th>{escape(name)}</th>" for name in columns) + "</tr>")
    for row in rows:
        parts.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    parts.append("</table>")
    if below:
        parts.append(f"<p>{escape(below)}</p>")
    return "".join(parts)
