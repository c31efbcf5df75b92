"""Answers of the real program: each function gives the document of its command."""

import os
import tempfile
import time
import unittest
from pathlib import Path

from support import TREE  # makes the package importable

import rehearse

SMALL = dict(workload="llama-3.2-1b", platform="h100-sxm:2x1,nvlink:450GB/s", global_batch=8, seq=1024)
SERVICE = dict(workload="llama-3.2-1b", platform="h100-sxm:1x1", lengths="in=100,out=10", ttft="p99<9s")


def processes_with(word: str) -> list:
    """Processes whose command line holds a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Commands(unittest.TestCase):
    def test_plan_is_saved_and_explained(self):
        answer = rehearse.plan(**SMALL, quick=True)
        self.assertEqual(answer.schema, "rehearse.plan/1")
        self.assertEqual(answer.inputs.gpus_count, 2)
        times = [plan.step_time_s for plan in answer.plans]
        self.assertEqual(len(answer.rows()), len(times))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            answer.save(path)
            by_file = rehearse.explain(path, rank=1)
        by_object = rehearse.explain(answer, rank=1)
        self.assertEqual(by_object.step_time_s, by_file.step_time_s)
        self.assertEqual(by_object.recorded_step_time_s, times[0])

    def test_the_saved_text_is_that_of_an_output_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.json"
            answer = rehearse.collective("all-gather", platform="dgx-h100", size="1M,2M", output=path)
            other = Path(folder) / "b.json"
            answer.save(other)
            self.assertEqual(path.read_bytes(), other.read_bytes())

    def test_a_log_beside_its_prediction(self):
        job = dict(workload="llama-3.2-1b", platform="h100-sxm:2x1,nvlink:450GB/s", seq=1024, strategy="mb4")
        lines = [
            f" iteration {i}/ 9 | elapsed time per iteration (ms): 500.0 | global batch size: 8 |"
            for i in range(1, 9)
        ]
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "run.log"
            log.write_text("\n".join(lines) + "\n")
            answer = rehearse.validate(cases=log, **job)
            profile = Path(folder) / "mine.json"
            try:
                learned = rehearse.calibrate(**{"from": log}, **job, output=profile)
                self.assertTrue(learned.schema)
            except rehearse.NoAnswer:
                self.assertFalse(profile.exists())
        case = answer.cases[0]
        self.assertAlmostEqual(case.measured, 0.5)
        self.assertIn(f"{100 * case.error_frac:+.3g} %", repr(answer))

    def test_services(self):
        one = rehearse.serve_simulate(**SERVICE, strategy="tp1", concurrency=4, count=50)
        self.assertEqual((one.schema, one.completed_count), ("rehearse.serve/1", 50))
        self.assertIn("ttft_s: p50 ", repr(one))
        best = rehearse.serve_plan(**SERVICE, strategy="tp1,batch=16", rate="2/s", count=1000)
        self.assertEqual(best.plans[0].gpus_count, 1)

    def test_capacity(self):
        answer = rehearse.capacity(**SMALL, tokens="1M", gpus=2, price="2USD")
        cell = answer.cells[answer.best - 1]
        self.assertAlmostEqual(cell.usd, 2 * cell.gpu_hours, places=6)

    def test_a_broken_level_is_no_and_keeps_the_figures(self):
        with self.assertRaises(rehearse.NoAnswer) as caught:
            rehearse.serve_simulate(**{**SERVICE, "ttft": "p99<1us"}, strategy="tp1", concurrency=4, count=50)
        self.assertEqual(caught.exception.result.completed_count, 50)

    def test_an_error_in_a_file_has_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bad.json"
            path.write_text('{"name": "x",\n "y": }\n')
            with self.assertRaises(rehearse.InputError) as caught:
                rehearse.simulate(workload="llama-3.2-1b", platform=path, global_batch=8, strategy="tp1")
        error = caught.exception
        self.assertEqual((error.file, error.line, error.column), (str(path), 2, 7))
        self.assertTrue(error.helps)

    def test_a_search_that_is_ended_leaves_no_process(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "never.json")
            begin = time.monotonic()
            with self.assertRaises(rehearse.TimedOut):
                rehearse.plan(
                    workload="llama-3.1-405b", platform="dgx-h100:512", global_batch=2048, seq=8192, gap="0.01%",
                    output=mark, kill_after_s=1.5,
                )
            self.assertLess(time.monotonic() - begin, 20)
            end = time.monotonic() + 5
            while processes_with(mark) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(processes_with(mark), [])


if __name__ == "__main__":
    unittest.main()
