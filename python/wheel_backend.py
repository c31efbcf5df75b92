"""Builds the package's wheel, so that `pip install ./python` fetches nothing (PEP 517 and 660)."""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEEL = "Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _project() -> dict:
    """The texts of pyproject.toml; tomllib came with Python 3.11."""
    return dict(re.findall(r'^([a-z-]+) = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.M))


def _metadata(project: dict) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        f"Summary: {project['description']}\nLicense: GPL-3.0-or-later\n"
        f"Requires-Python: {project['requires-python']}\n"
        'Provides-Extra: frames\nRequires-Dist: pandas; extra == "frames"\n'
    )


def _record(files: dict) -> str:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines)


def _write(wheel_directory: str, files: dict) -> str:
    """Write a wheel of `files` (name to bytes) and return its name."""
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    info = f"{stem}.dist-info"
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    files[f"{info}/RECORD"] = (_record(files) + f"{info}/RECORD,,\n").encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(zipfile.ZipInfo(path), data)  # no times: the same sources give the same bytes
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel of the package."""
    sources = sorted([*HERE.glob("rehearse/*.py"), HERE / "rehearse/py.typed"])
    return _write(wheel_directory, {f"rehearse/{path.name}": path.read_bytes() for path in sources})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Write a wheel that leads to this folder."""
    return _write(wheel_directory, {"rehearse.pth": f"{HERE}\n".encode()})
