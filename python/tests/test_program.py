"""Options, exit statuses, errors and the end of the child, by a program that stands in."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support import TREE, WithStandIn

import rehearse
from rehearse import program

ECHO = 'print(json.dumps({"argv": sys.argv[1:]}))'
REFUSE = "sys.stderr.write({0!r}); sys.exit({1})"
TWO_PROBLEMS = """progress: 3/4
error: key "name" is missing
 --> my files/a.json:1:2
  |
1 | {"x": 4}
  | ^
error: unknown key "x"
 --> my files/a.json:10:20
  |
10 | {"x": 4}
  |  ^^^
  = help: a similar key exists: "nx"
note: 97 models are known
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for(condition, limit_s: float = 20.0) -> bool:
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Options(WithStandIn):
    def words(self, **options):
        return list(rehearse.plan(**options).argv)

    def setUp(self):
        self.stand_in(ECHO)

    def test_keywords_become_options(self):
        self.assertEqual(
            self.words(
                workload="m", global_batch=64, risk=0.05, quick=True, verbose=False, stack=None, from_=Path("a b")
            ),
            ["plan", "--workload=m", "--global-batch=64", "--risk=0.05", "--quick", "--from=a b", "--json"],
        )

    def test_a_file_that_starts_the_run_is_from(self):
        self.assertEqual(self.words(from_file="train.sh"), ["plan", "--from=train.sh", "--json"])

    def test_lists_and_mappings_repeat(self):
        self.assertEqual(
            self.words(set={"nodes": 4, "packing": True}, beside=["a.json", "b.json"], fix=()),
            ["plan", "--set=nodes=4", "--set=packing=true", "--beside=a.json", "--beside=b.json", "--json"],
        )

    def test_a_number_as_timeout_is_of_seconds(self):
        self.assertEqual(self.words(timeout=1.5), ["plan", "--timeout=1.5s", "--json"])

    def test_a_value_may_begin_with_a_dash_and_hold_quotes(self):
        self.assertEqual(self.words(workload="-x 'y\" $z"), ["plan", "--workload=-x 'y\" $z", "--json"])

    def test_other_values_are_refused(self):
        with self.assertRaises(TypeError):
            rehearse.plan(workload=object())

    def test_commands_and_operands(self):
        self.assertEqual(list(rehearse.collective("all-reduce")["argv"]), ["collective", "all-reduce", "--json"])
        self.assertEqual(list(rehearse.serve_plan()["argv"]), ["serve-plan", "--json"])
        self.assertEqual(list(rehearse.explain("a.json", rank=2)["argv"]), ["explain", "a.json#2", "--json"])


class Errors(WithStandIn):
    def refusal(self, stderr: str, status: int, kind):
        self.stand_in(REFUSE.format(stderr, status))
        with self.assertRaises(kind) as caught:
            rehearse.plan()
        self.assertEqual(caught.exception.status, status)
        return caught.exception

    def test_usage(self):
        stderr = "error: plan has no option -g\nhelp: `rehearse plan -h` lists its options\n"
        error = self.refusal(stderr, 2, rehearse.UsageError)
        self.assertEqual(error.message, "plan has no option -g")
        self.assertEqual(error.helps, ("`rehearse plan -h` lists its options",))
        self.assertEqual(error.argv, ("plan", "--json"))

    def test_input_has_a_place(self):
        error = self.refusal(TWO_PROBLEMS, 3, rehearse.InputError)
        self.assertEqual(error.message, 'key "name" is missing')
        self.assertEqual((error.file, error.line, error.column), ("my files/a.json", 1, 2))
        second = error.problems[1]
        self.assertEqual((second.place.line, second.place.column), (10, 20))
        self.assertEqual(second.helps, ('a similar key exists: "nx"',))
        self.assertEqual(second.notes, ("97 models are known",))
        self.assertIn('my files/a.json:10:20: unknown key "x"', str(error))

    def test_input_without_a_place(self):
        error = self.refusal("error: unknown workload\n", 3, rehearse.InputError)
        self.assertEqual((error.file, error.line, error.column), (None, None, None))

    def test_other_statuses_are_failures(self):
        self.refusal("error: x\n", 70, rehearse.ProgramError)
        self.stand_in("os.kill(os.getpid(), signal.SIGKILL)")
        with self.assertRaises(rehearse.ProgramError) as caught:
            rehearse.plan()
        self.assertEqual(caught.exception.status, -9)

    def test_no_keeps_its_document(self):
        self.stand_in('print(json.dumps({"plans": []})); sys.exit(1)')
        with self.assertRaises(rehearse.NoAnswer) as caught:
            rehearse.plan()
        self.assertEqual(len(caught.exception.result.plans), 0)
        self.assertEqual(str(caught.exception), "plan: the answer is no")
        self.assertEqual(rehearse.plan(check=False)["plans"], [])

    def test_no_without_a_document(self):
        error = self.refusal("error: time is up\n", 1, rehearse.NoAnswer)
        self.assertIsNone(error.result)
        with self.assertRaises(rehearse.NoAnswer):
            rehearse.plan(check=False)


class Finding(WithStandIn):
    def test_a_name_that_leads_nowhere_is_an_error(self):
        with mock.patch.dict(os.environ, REHEARSE="/nowhere/rehearse"):
            with self.assertRaises(rehearse.ProgramNotFound):
                rehearse.plan()

    def test_the_build_of_the_tree_comes_before_path(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder).resolve()
            for part in ("build", "bin", "python/rehearse"):
                (tree / part).mkdir(parents=True)
            for part in ("build/rehearse", "bin/rehearse"):
                (tree / part).write_text("#!/bin/sh\n")
                (tree / part).chmod(0o755)
            (tree / "CMakeLists.txt").touch()
            module = str(tree / "python/rehearse/program.py")
            with mock.patch.dict(os.environ, PATH=str(tree / "bin")), mock.patch.object(program, "__file__", module):
                os.environ.pop("REHEARSE", None)
                self.assertEqual(rehearse.find_program(), str(tree / "build/rehearse"))
                (tree / "build/rehearse").unlink()
                self.assertEqual(rehearse.find_program(), str(tree / "bin/rehearse"))
                (tree / "bin/rehearse").unlink()
                with self.assertRaises(rehearse.ProgramNotFound):
                    rehearse.find_program()


class Ending(WithStandIn):
    WAIT = 'open(os.environ["PID"], "w").write(str(os.getpid())); time.sleep(60)'

    def start(self, code: str) -> Path:
        file = self.stand_in(code) / "pid"
        self.enter(mock.patch.dict(os.environ, PID=str(file)))
        return file

    def test_a_program_that_takes_too_long_is_ended(self):
        file = self.start(self.WAIT)
        with self.assertRaises(rehearse.TimedOut):
            rehearse.plan(kill_after_s=1.0)
        self.assertTrue(file.exists())
        self.assertFalse(is_alive(int(file.read_text())))

    def test_one_that_ignores_the_request_is_ended_too(self):
        file = self.start("signal.signal(signal.SIGTERM, signal.SIG_IGN); " + self.WAIT)
        with mock.patch.object(program, "_GRACE_S", 0.2), self.assertRaises(rehearse.TimedOut):
            rehearse.plan(kill_after_s=1.0)
        self.assertFalse(is_alive(int(file.read_text())))

    def test_ctrl_c_ends_the_program(self):
        file = self.start(self.WAIT)
        caller = subprocess.Popen(
            [sys.executable, "-c", "import rehearse; rehearse.plan()"],
            env={**os.environ, "PYTHONPATH": str(TREE / "python")},
            stderr=subprocess.DEVNULL,
        )
        self.assertTrue(wait_for(lambda: file.exists() and file.read_text()))
        caller.send_signal(signal.SIGINT)
        self.assertNotEqual(caller.wait(20), 0)
        self.assertFalse(is_alive(int(file.read_text())))


class Answers(WithStandIn):
    DOCUMENT = {
        "schema": "rehearse.plan/1",
        "argv": ["plan"],
        "inputs": {"workload": {"name": "<b>m</b>"}, "platform": {"name": "p"}},
        "plans": [
            {
                "rank": rank,
                "layout": {"tp": 2, "pp": 1},
                "step_time_s": 0.25 * rank,
                "links": [{"name": "x"}],
                "fits": True,
            }
            for rank in range(1, 31)
        ],
    }

    def setUp(self):
        self.stand_in(f"print(json.dumps({self.DOCUMENT!r}))")
        self.answer = rehearse.plan()

    def test_keys_are_attributes_and_items(self):
        self.assertEqual(self.answer.plans[0].layout.tp, 2)
        self.assertEqual(self.answer["plans"][-1]["step_time_s"], 7.5)
        self.assertEqual([p.rank for p in self.answer.plans[:3]], [1, 2, 3])
        self.assertIn("plans", self.answer)
        self.assertIn("plans", dir(self.answer))
        self.assertIsNone(self.answer.get("none"))
        with self.assertRaisesRegex(AttributeError, "no key 'plan'; it has schema, argv, inputs, plans"):
            self.answer.plan
        with self.assertRaises(AttributeError):
            self.answer.plans = []
        self.assertEqual(self.answer.to_dict(), self.DOCUMENT)

    def test_rows_are_scalars(self):
        self.assertEqual(len(self.answer.rows()), 30)
        self.assertEqual(
            self.answer.rows()[1], {"rank": 2, "layout.tp": 2, "layout.pp": 1, "step_time_s": 0.5, "fits": True}
        )
        self.assertEqual(self.answer.plans[0].rows(), self.answer.rows()[:1])

    def test_a_frame_needs_pandas(self):
        with mock.patch.dict(sys.modules, pandas=None), self.assertRaisesRegex(ImportError, "pip install pandas"):
            self.answer.frame()
        pandas = mock.Mock()
        with mock.patch.dict(sys.modules, pandas=pandas):
            self.answer.plans.frame()
        pandas.DataFrame.assert_called_once_with(self.answer.rows())

    def test_it_is_shown_in_few_lines(self):
        lines = repr(self.answer).splitlines()
        self.assertEqual(lines[0], "plan: <b>m</b> on p")
        self.assertEqual(lines[1].split(), ["rank", "layout", "step_time_s"])
        self.assertEqual(lines[2].split(), ["1", "tp2", "250", "ms"])
        self.assertEqual(lines[-1], "... 25 more")
        self.assertLess(len(lines), 10)

    def test_html_is_escaped(self):
        page = self.answer._repr_html_()
        self.assertIn("&lt;b&gt;m&lt;/b&gt;", page)
        self.assertNotIn("<b>", page)
        self.assertEqual(page.count("<tr>"), 22)  # the title, the columns, twenty rows
        self.assertIn("... 10 more", page)

    def test_an_answer_without_a_table_shows_its_figures(self):
        ttft_s = {"p50": 0.02, "p99": 2}
        text = json.dumps({"argv": ["simulate"], "layout": {"tp": 1}, "error_frac": 0.05, "ttft_s": ttft_s})
        self.assertEqual(
            repr(rehearse.Result(text)), "simulate\nlayout: one GPU\nerror_frac: ±5 %\nttft_s: p50 20 ms, p99 2 s"
        )

    def test_an_empty_table_shows_what_would_change_it(self):
        change = {"change": "--gpus 8", "effect": "fits"}
        answer = rehearse.Result(json.dumps({"argv": ["plan"], "plans": [], "smallest_change": change}))
        self.assertEqual(repr(answer), "plan\nno rows; the smallest change: --gpus 8, fits")
        self.assertIn("--gpus 8", answer._repr_html_())
        self.assertEqual(answer.rows(), [])

    def test_it_can_be_pickled(self):
        self.assertEqual(pickle.loads(pickle.dumps(self.answer)), self.answer)


if __name__ == "__main__":
    unittest.main()
