#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mhcshadow-microtest: the numbers of the incident, against an oracle, and its options.

Usage: test_microtest.py mhcshadow-microtest mhcshadow-make-checkpoint FOLDER-OF-SIMCUDA
"""
import array
import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import unittest

MICROTEST, MAKE_CHECKPOINT, SIMCUDA = sys.argv[1:4]
del sys.argv[1:4]
SANITIZED = os.environ.get("MHCSHADOW_TEST_SANITIZED") == "1"
PATHS = ("bf16", "bf16 split-K", "fp16", "tf32")


def run(*options, **more):
    return subprocess.run([MICROTEST, *options], capture_output=True, text=True, **more)


def with_libraries(folder, **settings):
    """An environment whose CUDA libraries are those of `folder`."""
    return {**os.environ, "LD_LIBRARY_PATH": folder, "SIMCUDA_QUIET": "1", **settings}


def found(*options, **more):
    result = run("--json", *options, **more)
    assert (result.returncode, result.stderr) == (0, ""), result
    return json.loads(result.stdout)


def write_tensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read_tensors(path):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = f.read()
    header.pop("__metadata__", None)
    return {n: array.array("f", data[slice(*e["data_offsets"])]) for n, e in header.items()}


def rounded(value, bits):
    """To `bits` significant bits, halves to even; in range of the format."""
    if value == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(value))) + 1 - bits
    return round(value / 2.0**exponent) * 2.0**exponent


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def maps(raw, x, scale, base, eps=1e-6):
    """pre, post, comb of one row, as doc/metrics.md has them."""
    rms = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + eps)
    z = [m * rms * scale[0 if i < 4 else 1 if i < 8 else 2] + base[i] for i, m in enumerate(raw)]
    sigmoid = [1 / (1 + math.exp(-v)) for v in z[:8]]
    pre, post = [s + eps for s in sigmoid[:4]], [2 * s for s in sigmoid[4:]]
    comb = [z[8 + 4 * j : 12 + 4 * j] for j in range(4)]
    comb = [[math.exp(v - max(row)) for v in row] for row in comb]
    comb = [[v / sum(row) + eps for v in row] for row in comb]
    for i in range(20):
        if i > 0:
            comb = [[v / (sum(row) + eps) for v in row] for row in comb]
        sums = [sum(row[k] for row in comb) + eps for k in range(4)]
        comb = [[v / sums[k] for k, v in enumerate(row)] for row in comb]
    return pre, post, [v for row in comb for v in row]


class Microtest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    @unittest.skipIf(SANITIZED, "neither the seconds nor the memory are the program's own")
    def test_it_finds_what_the_incident_found_in_seconds_and_little_memory(self):
        # The size of V4-Flash: 43 layers, hidden 4096, 64 rows.
        with open(self.path("out"), "wb") as out:
            process = subprocess.Popen([MICROTEST, "--synthetic", "--json"], stdout=out)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        with open(self.path("out"), encoding="utf-8") as out:
            result = json.load(out)
        self.assertEqual((result["model"]["layers"], result["model"]["hidden"], result["run"]["rows"]), (43, 4096, 64))
        # On two cores a minute has two of computing; fn of all sites takes 135 MB, of one 1.5.
        self.assertLess(used.ru_utime + used.ru_stime, 60)
        self.assertLess(used.ru_maxrss, 80 * 1024)
        self.assertEqual(result["verdict"], "PASS")
        split, bf16 = result["paths"]["bf16 split-K"], result["paths"]["bf16"]
        self.assertTrue(2.8e-3 < split["raw"] < 3.1e-3, split)
        self.assertTrue(2.3e-3 < bf16["raw"] < 2.5e-3, bf16)
        for path in PATHS:
            self.assertTrue(0.9 < result["paths"][path]["ratio"] < 1.1, path)
            self.assertLess(result["drift"][path][20]["cosine_distance"], 1e-4)  # after 21 layers
            self.assertEqual(len(result["drift"][path]), 43)
        self.assertTrue(0.5e-3 < bf16["y_low"] <= bf16["y_high"] < 3e-3, bf16)
        self.assertTrue(2.0e-4 < result["paths"]["tf32"]["raw"] < 2.4e-4)
        self.assertTrue(2.7e-4 < result["paths"]["fp16"]["raw"] < 3.2e-4)
        for site in result["sites"]:
            self.assertLess(site["fp64_check"], 2e-6)
            if site["role"] != "head":
                operands = site["errors"]["bf16"]["operands"]["raw"]
                self.assertTrue(1.5e-3 < operands < 1.8e-3, site)

    def test_weights_states_and_errors_are_those_of_an_oracle(self):
        checkpoint = self.path("model.safetensors")
        subprocess.run([MAKE_CHECKPOINT, "--layers", "1", "--hidden", "64", checkpoint], check=True)
        tensors = read_tensors(checkpoint)
        random = 1
        x = []
        for _ in range(3):
            row = []
            for _ in range(256):
                random = (random * 6364136223846793005 + 1442695040888963407) % 2**64
                row.append(rounded(((random >> 33) - 2**30) / 2**30, 8))
            x.append(row)
        write_tensors(
            self.path("x"), {"x": ("F32", [3, 4, 64], struct.pack("<768f", *sum(x, [])))}
        )
        result = found("--model", checkpoint, "--states", self.path("x"))
        self.assertEqual(result["run"]["rows"], 3)
        self.assertTrue(result["run"]["states_are_bf16"])
        self.assertIn("rms_norm_eps", result["model"]["missing"])
        site = result["sites"][1]
        self.assertEqual(site["site"], "layers.0.hc_ffn_fn")
        fn = tensors["layers.0.hc_ffn_fn"]
        self.assertAlmostEqual(site["absmax"], max(map(abs, fn)), delta=1e-7)
        self.assertAlmostEqual(site["rms"], norm(fn) / math.sqrt(len(fn)), delta=1e-8)
        scale, base = tensors["layers.0.hc_ffn_scale"], tensors["layers.0.hc_ffn_base"]
        for got, wanted in zip(site["scale"], scale):
            self.assertAlmostEqual(got, wanted, delta=1e-6)

        weights = [fn[256 * j : 256 * (j + 1)] for j in range(24)]
        squares, y_errors, y_norms, comb_errors, comb_norms = [], [], [], [], []
        for row in x:
            exact = [math.fsum(a * b for a, b in zip(row, w)) for w in weights]
            made = [rounded(math.fsum(a * rounded(b, 8) for a, b in zip(row, w)), 8) for w in weights]
            squares.append((norm(a - b for a, b in zip(made, exact)) / norm(exact)) ** 2)
            pre, _, comb = maps(exact, row, scale, base)
            made_pre, _, made_comb = maps(made, row, scale, base)
            y = [sum(p * row[64 * i + d] for i, p in enumerate(pre)) for d in range(64)]
            made_y = [sum(p * row[64 * i + d] for i, p in enumerate(made_pre)) for d in range(64)]
            y_errors += [a - b for a, b in zip(made_y, y)]
            y_norms += y
            comb_errors += [a - b for a, b in zip(made_comb, comb)]
            comb_norms += comb
        got = site["errors"]["bf16"]["fp32"]
        for name, wanted in (
            ("raw", math.sqrt(sum(squares) / 3)),
            ("comb", norm(comb_errors) / norm(comb_norms)),
            ("y", norm(y_errors) / norm(y_norms)),
        ):
            self.assertAlmostEqual(got[name] / wanted, 1, delta=2e-3, msg=name)

    def test_a_checkpoint_gives_what_its_made_up_weights_give(self):
        options = ("--rows", "16", "--list", "all")
        subprocess.run(
            [MAKE_CHECKPOINT, "--layers", "2", "--hidden", "64", "--config", self.path("config.json"),
             self.path("model.safetensors")],
            check=True,
        )
        one = found("--model", self.folder.name, *options)
        other = found("--synthetic", "--layers", "2", "--hidden", "64", *options)
        self.assertEqual(one["model"]["missing"], "")
        self.assertEqual(len(one["sites"]), 5)
        for key in ("sites", "drift", "paths"):
            self.assertEqual(one[key], other[key])

    def test_threads_do_not_change_the_result(self):
        options = ("--synthetic", "--layers", "2", "--hidden", "64", "--rows", "40")
        one = found(*options, "--threads", "1")
        for threads in ("2", "5"):
            more = found(*options, "--threads", threads)
            for key in ("sites", "drift", "paths", "verdict"):
                self.assertEqual(one[key], more[key])

    def test_fp32_states_are_rounded_by_the_narrow_paths_and_expected_to_be(self):
        options = ("--synthetic", "--layers", "2", "--hidden", "512", "--list", "all")
        narrow, wide = found(*options), found(*options, "--fp32-states")
        self.assertFalse(wide["run"]["states_are_bf16"])
        ratio = wide["paths"]["bf16"]["raw"] / narrow["paths"]["bf16"]["raw"]
        self.assertTrue(1.15 < ratio < 1.3, ratio)  # sqrt(3 roundings / 2)
        self.assertTrue(0.9 < wide["paths"]["bf16"]["ratio"] < 1.1)

    def test_the_tables_say_what_the_json_says(self):
        options = ("--synthetic", "--layers", "2", "--hidden", "64", "--rows", "16")
        result, text = found(*options), run(*options).stdout
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)
            self.assertNotRegex(line, r"\b0\.0000\b")
        for path in PATHS:
            raw = result["paths"][path]["raw"]
            self.assertRegex(text, rf"  {re.escape(path)} +{raw:.3e} +.* PASS")
        self.assertRegex(text, r"VERDICT PASS: the coarsest precision, bf16 split-K, is off by ")
        self.assertIn("hc_head_fn", text)

    def test_on_a_gpu_it_is_the_real_cublas_that_multiplies(self):
        options = ("--synthetic", "--layers", "2", "--hidden", "1024", "--list", "0,1", "--rows", "32")
        cpu, gpu = found(*options), found(*options, "--device", "gpu", env=with_libraries(SIMCUDA))
        self.assertTrue(gpu["run"]["simulated"])
        self.assertIn("simcuda", gpu["run"]["gpu"])
        self.assertIn(os.path.join(SIMCUDA, "libcublas.so.13"), gpu["run"]["gpu"])
        self.assertEqual(list(gpu["paths"]), [*PATHS, "fp32"])
        for path, cost in gpu["paths"].items():
            self.assertEqual(cost["status"], "PASS", path)
            self.assertEqual(len(gpu["drift"][path]), 2)
        # Another machine's arithmetic, not another's noise. What the library splits is its own choice.
        for path in ("bf16", "fp16", "tf32"):
            self.assertNotEqual(gpu["paths"][path]["raw"], cpu["paths"][path]["raw"])
            self.assertAlmostEqual(gpu["paths"][path]["raw"] / cpu["paths"][path]["raw"], 1, delta=0.05, msg=path)
            self.assertAlmostEqual(gpu["drift"][path][1]["rel"] / cpu["drift"][path][1]["rel"], 1, delta=0.2, msg=path)
        self.assertTrue(1e-8 < gpu["paths"]["fp32"]["raw"] < 1.6e-6)
        text = run(*options, "--device", "gpu", env=with_libraries(SIMCUDA)).stdout
        self.assertIn("SIMULATED GPU", text)
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))

    def test_a_gpu_whose_arithmetic_is_not_what_it_says_is_found_out(self):
        options = ("--synthetic", "--layers", "1", "--hidden", "512", "--device", "gpu", "--json")
        result = run(*options, env=with_libraries(SIMCUDA, SIMCUDA_DEFECT="tf32-operands"))
        self.assertEqual(result.returncode, 1)
        statuses = {path: cost["status"] for path, cost in json.loads(result.stdout)["paths"].items()}
        self.assertEqual(statuses, {**dict.fromkeys(PATHS, "PASS"), "fp32": "FAIL"})

    def test_what_a_gpu_lacks_is_said_with_the_remedy(self):
        def links(folder, *names):
            os.mkdir(self.path(folder))
            for name in ("libcuda.so.1", "libcublas.so.13", "libcublas.so.12"):
                if name in names:
                    os.symlink(os.path.join(SIMCUDA, name), os.path.join(self.path(folder), name))
                else:  # an empty file is found first, and is no library
                    open(os.path.join(self.path(folder), name), "wb").close()
            return with_libraries(self.path(folder))

        for env, text in (
            (links("nothing"), "no CUDA driver here ("),
            (links("no cublas", "libcuda.so.1"), "no cuBLAS here ("),
            (with_libraries(SIMCUDA, SIMCUDA_DEVICES="0"), "no GPU to be used: CUDA_ERROR_NO_DEVICE (100)"),
            (with_libraries(SIMCUDA, SIMCUDA_MEM_MB="1"), "taking GPU memory: CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ):
            result = run("--synthetic", "--layers", "1", "--device", "gpu", env=env)
            self.assertEqual((result.returncode, result.stdout), (2, ""), result)
            self.assertIn(text, result.stderr)
            self.assertRegex(result.stderr, "install|LD_LIBRARY_PATH|nvidia-smi|--device cpu")

    def test_progress_goes_to_a_terminal_only(self):
        options = ("--synthetic", "--layers", "1", "--hidden", "64", "--rows", "4")
        self.assertEqual(run(*options).stderr, "")
        ours, theirs = pty.openpty()
        process = subprocess.Popen([MICROTEST, *options], stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        self.assertIn(b"layers.0.hc_ffn_fn       2 of 3", seen)

    def test_bad_usage_and_files_are_said(self):
        x = self.path("x.safetensors")
        write_tensors(x, {"a": ("F32", [2, 8], bytes(64)), "b": ("U8", [3], bytes(3))})
        small = ("--synthetic", "--layers", "1", "--hidden", "64")
        for options, text in (
            ((), "say --model PATH or --synthetic"),
            (("--model", "x", "--synthetic"), "say --model PATH or --synthetic"),
            (("--synthetic", "--rows", "0"), "0 is not a number from 1"),
            (("--synthetic", "--list", "1,x"), "1,x is neither all nor a list of layers"),
            (("--synthetic", "--outlier-share", "2"), "2 is not a number from 0 to 1"),
            (("--synthetic", "--device", "tpu"), "tpu is neither cpu nor gpu"),
            (("--model", "/nonexistent"), "/nonexistent: No such file or directory"),
            (("--model", self.folder.name), "no mixing weights in it"),
            ((*small, "--states", x), "2 tensors in it: say which one with --tensor"),
            ((*small, "--states", x, "--tensor", "c"), "tensor c: not in the file"),
            ((*small, "--states", x, "--tensor", "a"), "tensor a: is F32 [2, 8]; rows of the mixing"),
            ((*small, "--states", x, "--tensor", "b"), "tensor b: is U8 [3]; rows of the mixing"),
        ):
            result = run(*options)
            self.assertEqual((result.returncode, result.stdout), (2, ""), options)
            self.assertIn(text, result.stderr)

    def test_a_result_that_can_not_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [MICROTEST, "--synthetic", "--layers", "1", "--hidden", "64", "--rows", "4"],
                stdout=full, stderr=subprocess.PIPE, text=True,
            )
        self.assertEqual(result.returncode, 2)
        self.assertIn("writing the result", result.stderr)


if __name__ == "__main__":
    unittest.main()
