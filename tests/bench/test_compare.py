"""The comparison's statistics and tables with artificial lines, and its runs with artificial programs."""
import argparse
import sys
import tempfile
import unittest
import zlib
from pathlib import Path
from unittest import mock

import compare
import compare_predict
import compare_runs
import compare_table
from compare_runs import OURS, RUNNERS, Done, Job, NotInstalled, RunError

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

    def test_whole_processes_have_their_own_clock_beside(self):
        def predict(runner, seconds, **more):
            return {**record(1, runner, 1, "predict"),
                    "result": {"process_s": seconds, "peak_rss_mib": 60, "details": "", **more}}

        records = [predict(OURS, 0.1), predict("onnxruntime:stock", 0.4, startup_s=0.3)]
        lines = compare_table.make_tables(HEADER, records).splitlines()
        for line in ("| runner | s | speed to ours | of the FMA peak | peak memory, MiB "
                     "| by its own clock, s | n |", "| shiftvit | 0.10 | 1.00 |  | 60 |  | 1 |",
                     "| onnxruntime:stock | 0.40 | 0.25 |  | 60 | 0.30 | 1 |"):
            self.assertIn(line, lines)

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
        self.assertEqual(self.run_script("print('noise'); print('{}')").line, "{}")

    def test_time_and_memory_are_those_of_the_whole_program(self):
        done = self.run_script("import time; x = bytearray(200 << 20); time.sleep(0.3)")
        self.assertGreater(done.seconds, 0.3)
        self.assertGreater(done.peak_mib, 200)
        self.assertLess(done.peak_mib, 300)

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
        cases = {"": "no message", "a\nb\n": "b", "p: no\nTry `p --help' for it.\n": "p: no",
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

        def refuse(python):
            asked.append(python)
            raise NotInstalled("not installed: none")

        for _ in range(2):
            with self.assertRaises(NotInstalled):
                environments.run("none", refuse)
        self.assertEqual(asked, ["a", "b"])

    def test_a_peer_is_run_where_it_was_found(self):
        environments = compare_runs.Environments(["a", "b"])

        def only_b(python):
            if python != "b":
                raise NotInstalled("not installed: peer")
            return {"python": python}

        for _ in range(2):
            self.assertEqual(environments.run("peer", only_b), {"python": "b"})


class Choices(unittest.TestCase):
    def test_types_are_part_of_the_name(self):
        names = [runner.name for runner in RUNNERS]
        for name in (OURS, "shiftvit:bf16", "shiftvit:int8", "torch:bf16", "openvino:bf16"):
            self.assertIn(name, names)
        self.assertEqual(len(set(names)), len(names))

    def test_ours_in_float32_is_always_run(self):
        cases = {("torch:bf16",): [OURS, "torch:bf16"], ("shiftvit:bf16",): [OURS, "shiftvit:bf16"],
                 (OURS,): [OURS, "shiftvit:bf16"]}
        for only, wanted in cases.items():
            runners = compare.chosen(argparse.Namespace(only=only), "train")
            self.assertEqual([runner.name for runner in runners], wanted)

    def test_the_type_is_asked_for_and_must_be_answered(self):
        line = ('{"work": "infer", "preset": "vit-cifar100", "batch": 4, "threads": 2, "compute": '
                '"f32", "images_per_second": 1, "startup_ms": 1, "peak_gflops": 1, '
                '"peak_rss_mib": 1, "gflop_per_image": 1}')
        low = next(runner for runner in RUNNERS if runner.name == "shiftvit:bf16")
        with mock.patch.object(compare_runs, "run", return_value=Done(line, 1, 1)) as run:
            compare_runs.run_ours("bench", RUNNERS[0], JOB, 1)
            self.assertIn("--compute=f32", run.call_args.args[0])
            with self.assertRaisesRegex(RunError, "asked for compute bf16"):
                compare_runs.run_ours("bench", low, JOB, 1)


class Predict(unittest.TestCase):
    def test_the_image_is_a_png_file(self):
        pixels = bytes(range(12))
        file = compare_predict.png(2, pixels)
        self.assertEqual(file[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(file[16:24], bytes([0, 0, 0, 2, 0, 0, 0, 2]))
        begin = file.index(b"IDAT")
        size = int.from_bytes(file[begin - 4:begin], "big")
        self.assertEqual(zlib.decompress(file[begin + 4:begin + 4 + size]),
                         b"\0" + pixels[:6] + b"\0" + pixels[6:])

    def test_the_first_run_is_not_counted(self):
        runs = [Done("", seconds, peak) for seconds, peak in
                ((9, 900), (1, 50), (5, 60), (2, 50), (3, 50), (4, 50))]
        with mock.patch.object(compare_predict, "run", side_effect=runs):
            done, result = compare_predict.run_often(["program"], 1)
        self.assertEqual(done, runs[1:])
        self.assertEqual(result, {"process_s": 3, "peak_rss_mib": 60})


if __name__ == "__main__":
    unittest.main()
