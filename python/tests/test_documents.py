"""The guide's examples and the notebook's cells, run with the real program."""

import ast
import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

from support import TREE

import rehearse
import wheel_backend


def run_cell(source: str, names: dict):
    """Run one cell as a notebook does, and return the value of its last line where that is one."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


class Guide(unittest.TestCase):
    def test_examples_print_what_the_page_shows(self):
        page = str(TREE / "docs/guide/python.md")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            failed, count = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS)
        self.assertEqual(failed, 0, said.getvalue())
        self.assertGreater(count, 10)


class Notebook(unittest.TestCase):
    def test_every_cell_runs(self):
        notebook = json.loads((TREE / "python/example.ipynb").read_text())
        self.assertEqual(notebook["nbformat"], 4)
        names: dict = {}
        shown = []
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for cell in notebook["cells"]:
                self.assertEqual(cell.get("outputs", []), [])
                if cell["cell_type"] == "code":
                    shown.append(run_cell("".join(cell["source"]), names))
        tables = [value._repr_html_() for value in shown if value is not None]
        self.assertEqual(len(tables), 3)
        self.assertTrue(all(table.startswith("<table>") for table in tables))
        times = [float(text) for text in re.findall(r"GB/s: ([0-9.]+) s", said.getvalue())]
        self.assertEqual(len(times), 3)
        self.assertLess(times[0], times[2])
        self.assertIn("--gpus 104 would do:", said.getvalue())


class Package(unittest.TestCase):
    def test_versions_agree(self):
        wanted = re.search(r"project\(rehearse VERSION ([0-9.]+)", (TREE / "CMakeLists.txt").read_text())[1]
        project = re.search(r'^version = "([^"]+)"', (TREE / "python/pyproject.toml").read_text(), re.M)[1]
        self.assertEqual({rehearse.__version__, rehearse.program_version(), project}, {wanted})

    def test_the_wheel_has_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = os.path.join(folder, wheel_backend.build_wheel(folder))
            with open(wheel, "rb") as file:
                first = file.read()
            wheel_backend.build_wheel(folder)
            with open(wheel, "rb") as file:
                self.assertEqual(file.read(), first)
            code = "import rehearse; print(rehearse.__file__, rehearse.program_version())"
            said = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": wheel, "REHEARSE": rehearse.find_program()},
                cwd=folder,
                capture_output=True, text=True, check=True,
            ).stdout
            self.assertTrue(said.startswith(wheel), said)
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                record = archive.read(f"rehearse-{rehearse.__version__}.dist-info/RECORD").decode()
            self.assertEqual([line.split(",")[0] for line in record.splitlines()], names)


if __name__ == "__main__":
    unittest.main()
