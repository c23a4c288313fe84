#!/usr/bin/env python3
"""Test the test runners with a stand-in for castnet that passes, refuses, lies, crashes and hangs when told to."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), str(TESTS), str(TESTS / "bench")]
import feed  # noqa: E402
import harness  # noqa: E402
import numpy as np  # noqa: E402
import stages  # noqa: E402

CHECK_CLASSES = {
    "pass": "pass", "unsupported": "refused", "misjudge": "misjudged", "differ": "differs", "fail": "failed",
    "compiler": "compiler", "bug": "bug", "crash": "crash", "hang": "timeout", "sanitizer": "sanitizer",
}


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def model(self, name, act):
        place = self.folder / "data" / name
        place.mkdir(parents=True)
        (place / "model.onnx").write_bytes(b"\x08\x08")
        (place / "act").write_text(act)

    def run_copy(self, script, *arguments):
        """Run a runner from a copy of the tests, whose committed lists may be changed."""
        copy = self.folder / "tests"
        if not copy.exists():
            shutil.copytree(TESTS, copy, ignore=shutil.ignore_patterns("*.onnx", "__pycache__"))
        command = [sys.executable, copy / script, "--castnet", copy / "lib" / "stand_in.py", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, copy


class Conformance(Scratch):
    def suite(self, acts):
        for act in acts:
            self.model(f"node/{act}", act)
        rows = [{"kind": "node", "name": act, "rtol": 0, "atol": 0, "op": "Foo", "ops": ["Foo"]} for act in acts]
        (self.folder / "data" / "index.json").write_text(json.dumps(rows))

    def go(self, *options):
        results = self.folder / "results.json"
        status, text, copy = self.run_copy("conformance/run.py", "--cases", self.folder / "data", "--timeout", 2,
                                           "--results", results, *options)
        return status, text, {k: v["class"] for k, v in json.loads(results.read_text()).items()}, copy

    def test_classes(self):
        self.suite(CHECK_CLASSES)
        wanted = {f"node/{act}": cls for act, cls in CHECK_CLASSES.items()}
        for options in ([], ["--no-batch"]):
            status, text, classes, _ = self.go(*options)
            self.assertEqual(classes, wanted)
            self.assertEqual(status, 1)

    def test_lie(self):
        self.suite(["lie"])
        self.assertEqual(self.go("--no-batch")[2], {"node/lie": "protocol"})

    def test_list(self):
        self.suite(["pass", "unsupported"])
        self.assertEqual(self.go("--update", "--allow-growth")[0], 0)
        status, text, _, copy = self.go()
        self.assertEqual((status, text.strip().splitlines()[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.model("node/new", "unsupported")
        listed = copy / "conformance" / "expected_failures.txt"
        listed.write_text("node/pass\tE0303\n")
        status, text, _, _ = self.go("--update")
        self.assertEqual(status, 1)
        self.assertIn("not rewritten: 1 cases would be new", text)
        self.assertIn("FAIL node/pass: passes, but is listed", text)
        self.assertIn("FAIL node/unsupported: refused, and not listed", text)


class Hostile(Scratch):
    def go(self, act, expect):
        self.model(f"g/{act}", act)
        row = {"name": f"g/{act}", "file": "model.onnx", "group": "g", "expect": expect, "why": "", "check": act == "pass"}
        (self.folder / "data" / "index.json").write_text(json.dumps([row]))
        status, text, _ = self.run_copy("hostile/run.py", "--corpus", self.folder / "data")
        return status, text

    def test_right(self):
        for act, expect in (("pass", "accept"), ("refuse", "refuse"), ("unsupported", "accept")):
            self.assertEqual(self.go(act, expect)[0], 0, act)

    def test_wrong(self):
        for act, expect, words in (("pass", "refuse", "has to be refused"), ("refuse", "accept", "is valid"),
                                   ("crash", "any", "SIGABRT"), ("bug", "any", "exit 5"), ("sanitizer", "any", "sanitizer"),
                                   ("silent", "any", "without a diagnostic"), ("litter", "any", "but wrote"),
                                   ("greedy", "any", "memory:"), ("unclean", "any", "does not compile")):
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            status, text = self.go(act, expect)
            self.assertEqual(status, 1, act)
            self.assertIn(words, text)


class Counts(unittest.TestCase):
    def test_last_line(self):
        self.assertEqual(stages.counts_of("x\n3 passed, 0 failed\n", 0), (3, 0, 0))
        self.assertEqual(stages.counts_of("3 passed, 1 failed, 2 skipped\n", 1), (3, 1, 2))
        self.assertEqual(stages.counts_of("3 passed, 0 failed\n", 1), (3, 1, 0))
        self.assertEqual(stages.counts_of("Ok:                 2   \nFail:               1   \n", 1), (2, 1, 0))
        self.assertEqual(stages.counts_of("nothing\n", 0), (0, 1, 0))

    def test_codes(self):
        self.assertEqual(harness.DIAGNOSTIC.findall("m.onnx: node #1 (Conv): error E0304: x"), ["E0304"])


class Agreement(unittest.TestCase):
    """Of engines' outputs in tests/bench."""

    def test_close(self):
        a = np.array([[1.0, -2.0], [np.inf, 4.0]], np.float32)
        self.assertTrue(feed.close(a, a * np.float32(1.0001), 1e-3))
        for wrong in (a * np.float32(1.01), a.T, a.ravel(), -a, np.nan * a, np.where(a == np.inf, 3.0, a).astype(np.float32), [a]):
            self.assertFalse(feed.close(a, wrong, 1e-3))
        self.assertTrue(feed.close([{1: 0.5}], [{1: 0.50001}], 1e-3))
        self.assertFalse(feed.close([{1: 0.5}], [{2: 0.5}], 1e-3))
        strings = np.array([b"a", b"b"], dtype=object)
        self.assertFalse(feed.close(strings, strings[::-1], 1e-3))


if __name__ == "__main__":
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=0)
    outcome = unittest.main(exit=False, argv=sys.argv[:1], testRunner=runner).result
    bad = len(outcome.failures) + len(outcome.errors)
    sys.exit(harness.totals(outcome.testsRun - bad, bad))
