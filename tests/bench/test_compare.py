"""The comparison's statistics and tables over made-up lines, and its runs over made-up programs."""
import sys
import tempfile
import unittest
from pathlib import Path

import compare
import compare_runs
import compare_table
from compare_runs import OURS, Job, NotInstalled, RunError, Runner

HEADER = {"date": "2026-01-02", "batch": 256, "threads": 2, "rounds": 3, "seconds": 10.0}
JOB = Job("vit", "infer", 4, 2, 0.5)


def record(number, runner, rate, work="train", memory=100.0, startup=0.5):
    result = {"images_per_second": rate, "startup_s": startup, "peak_rss_mib": memory,
              "details": f"{runner} 1.0"}
    if runner == OURS:
        result.update(peak_gflops=400.0, gflop_per_image=2.0)
    return {"round": number, "model": "vit", "work": work, "runner": runner, "result": result}


def failure(number, runner, reason):
    return {"round": number, "model": "vit", "work": "train", "runner": runner, "error": reason}


class Statistics(unittest.TestCase):
    def test_ratio_is_the_median_of_the_rounds_own_ratios(self):
        rates = [(100, 50), (200, 40), (50, 40)]  # of the medians it would be 0.4
        records = [line for i, (own, other) in enumerate(rates)
                   for line in (record(i, OURS, own), record(i, "torch:stock", other))]
        ours, torch = compare_table.make_lines("train", records)
        self.assertEqual(torch.ratios, [0.5, 0.2, 0.8])
        self.assertEqual(compare_table.spread(torch.ratios), "0.50 (0.20 to 0.80)")
        self.assertEqual(ours.ratios, [1, 1, 1])

    def test_fraction_is_of_the_same_rounds_peak(self):
        records = [record(1, OURS, 100), record(1, "torch:stock", 50), record(2, "torch:stock", 60)]
        ours, torch = compare_table.make_lines("train", records)
        self.assertEqual(ours.fractions, [0.5])
        self.assertEqual(torch.fractions, [0.25])  # round 2 has no peak
        self.assertEqual(torch.values, [50, 60])

    def test_where_less_is_better_the_ratio_is_still_of_speeds(self):
        records = [record(1, OURS, 100, "latency"), record(1, "slow:stock", 50, "latency")]
        ours, slow = compare_table.make_lines("latency", records)
        self.assertEqual((ours.values, slow.values), ([10], [20]))
        self.assertEqual(slow.ratios, [0.5])
        records = [record(1, OURS, 1, "startup"), record(1, "slow:stock", 1, "startup", startup=2)]
        self.assertEqual(compare_table.make_lines("startup", records)[1].ratios, [0.25])

    def test_ours_is_first_and_the_failed_last(self):
        records = [failure(1, "a:stock", "no"), record(1, "b:stock", 1), record(1, "c:stock", 3),
                   record(1, OURS, 2)]
        order = [line.runner for line in compare_table.make_lines("train", records)]
        self.assertEqual(order, [OURS, "c:stock", "b:stock", "a:stock"])

    def test_numbers_are_short(self):
        cases = {0.456: "0.46", 3.271: "3.27", 27.18: "27.2", 278.4: "278", 999.7: "1,000",
                 65536.0: "65,536"}
        self.assertEqual({value: compare_table.number(value) for value in cases}, cases)


class Tables(unittest.TestCase):
    def test_every_runner_has_a_row(self):
        records = [record(1, OURS, 100, memory=80), record(2, OURS, 120, memory=90),
                   record(1, "torch:stock", 50), failure(2, "torch:stock", "not done after 9 s"),
                   failure(1, "keras:stock", "not installed: a|b"),
                   failure(2, "keras:stock", "another")]
        text = compare_table.make_tables(HEADER, records)
        for line in ("### ViT, training",
                     "| shiftvit | 110 (100 to 120) | 1.00 (1.00 to 1.00) | 55 % | 90 | 0.50 | 2 |",
                     "| torch:stock | 50.0 | 0.50 | 25 % | 100 | 0.50 | 1 of 2 |",
                     "- torch:stock failed: not done after 9 s",
                     "| keras:stock | not installed: a/b |  |  |  |  | 0 |",
                     "- keras:stock failed: another",
                     "- torch:stock: torch:stock 1.0"):
            self.assertIn(line, text.splitlines())

    def test_page_keeps_what_is_outside_of_the_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            page.write_text(f"before\n{compare_table.BEGIN}\nold\n{compare_table.END}\nafter\n")
            for _ in range(2):
                compare_table.write_page(page, "new")
            self.assertEqual(page.read_text(), f"before\n{compare_table.BEGIN}\nnew\n"
                                               f"{compare_table.END}\nafter\n")
            self.assertEqual(list(Path(folder).iterdir()), [page])

    def test_page_without_its_markers_is_refused(self):
        for text in ("", compare_table.BEGIN, compare_table.END + compare_table.BEGIN,
                     2 * (compare_table.BEGIN + compare_table.END)):
            with self.assertRaises(ValueError):
                compare_table.split_page(text)

    def test_raw_lines_come_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "raw.jsonl")
            with open(path, "x") as file:
                compare.put(file, {"header": HEADER})
                compare.put(file, record(1, OURS, 100))
            self.assertEqual(compare.load(path), (HEADER, [record(1, OURS, 100)]))


class Runs(unittest.TestCase):
    def run_script(self, text, limit=30.0):
        return compare_runs.run([sys.executable, "-c", text], limit)

    def test_the_last_line_is_the_answer(self):
        self.assertEqual(self.run_script("print('noise'); print('{}')"), "{}")

    def test_failures_say_why(self):
        cases = [("import time; time.sleep(60)", 0.2, "not done after 0.2 s"),
                 ("import sys; sys.exit('no memory')", 30, "exit status 1: no memory")]
        for script, limit, reason in cases:
            with self.assertRaisesRegex(RunError, reason):
                self.run_script(script, limit)
        with self.assertRaisesRegex(RunError, "cannot run '/nowhere'"):
            compare_runs.run(["/nowhere"], 1)
        with self.assertRaisesRegex(NotInstalled, "not installed: torch"):
            self.run_script("print('not installed: torch'); raise SystemExit(3)")

    def test_the_reason_is_the_error_and_not_what_follows_it(self):
        cases = {"": "no message", "a\nb\n": "b",
                 "x.SomeError: why\n\nread the manual": "x.SomeError: why"}
        self.assertEqual({text: compare_runs.reason_in(text) for text in cases}, cases)

    def test_wrong_answers_are_refused(self):
        cases = ['', '[]', '{"work": "train", "rate": 1}', '{"work": "infer"}',
                 '{"work": "infer", "rate": "1"}', '{"work": "infer", "rate": NaN}',
                 '{"work": "infer", "rate": true}', '{"work": "infer", "rate": 0}']
        for line in cases:
            with self.subTest(line), self.assertRaises(RunError):
                compare_runs.checked(line, {"work": "infer"}, ("rate",))
        good = '{"work": "infer", "rate": 2.5}'
        self.assertEqual(compare_runs.checked(good, {"work": "infer"}, ("rate",))["rate"], 2.5)

    def test_a_peer_without_its_package_is_asked_once(self):
        environments = compare_runs.Environments(["a", "b"])
        asked = []

        def refuse(python, runner, job, limit):
            asked.append(python)
            raise NotInstalled("not installed: none")

        original, compare_runs.run_peer = compare_runs.run_peer, refuse
        self.addCleanup(setattr, compare_runs, "run_peer", original)
        for _ in range(2):
            with self.assertRaises(NotInstalled):
                environments.run(Runner("none", "none.py", "stock", ("infer",)), JOB, 1)
        self.assertEqual(asked, ["a", "b"])


if __name__ == "__main__":
    unittest.main()
