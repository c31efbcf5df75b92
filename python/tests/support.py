"""What the tests share: where the tree is, and programs that stand in for rehearse."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "python"))


class WithStandIn(unittest.TestCase):
    """Tests whose program is a few lines of Python that see `sys.argv`."""

    def stand_in(self, code: str) -> Path:
        """Make the program; it is what REHEARSE names until the test ends."""
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        program = folder / "rehearse"
        program.write_text(f"#!{sys.executable}\nimport json, os, signal, sys, time\n{code}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.enter(mock.patch.dict(os.environ, REHEARSE=str(program)))
        return folder

    def enter(self, context):  # unittest has enterContext() from Python 3.11 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value
