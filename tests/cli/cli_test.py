#!/usr/bin/env python3
"""Runs the built command line as its users do: cli_test.py INGLE MODELS [unittest's arguments]

INGLE is the program, MODELS the folder of the small models. Nothing here depends on how long something takes:
where a run must be interrupted, it is one that would go on for very long, and it has said that it has begun.
"""
import json
import math
import os
import pty
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

INGLE = os.path.abspath(sys.argv[1])
MODEL = os.path.join(os.path.abspath(sys.argv[2]), "qwen2-q8_0.gguf")
N_VOCAB, N_CONTEXT = 320, 128
BOS, IM_START = 1, 3
MISSING = "/no/such/model.gguf"


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr.decode()

    def json(self):
        lines = self.out.decode("utf-8").splitlines()  # strict: what is printed as JSON is UTF-8
        assert len(lines) == 1, lines
        return json.loads(lines[0])


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("INGLE_")}


def ingle(*arguments, stdin=b"", env=None):
    done = subprocess.run([INGLE, *map(str, arguments)], input=stdin, capture_output=True, timeout=300,
                          env={**environment(), **(env or {})})
    return Result(done)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ingle-cli-")
        with open(MODEL, "rb") as f:
            cls.bytes = f.read()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def edited(self, name, old, new):
        self.assertEqual(self.bytes.count(old), 1)
        return self.file(name, self.bytes.replace(old, new))

    def long_model(self):
        """The same model, said to have been trained for a million tokens."""
        key = b"qwen2.context_length"
        at = self.bytes.index(key) + len(key) + 4  # its type stands between
        return self.file("long.gguf", self.bytes[:at] + (1 << 20).to_bytes(4, "little") + self.bytes[at + 4:])

    def ok(self, *arguments, stdin=b"", env=None):
        result = ingle(*arguments, stdin=stdin, env=env)
        self.assertEqual((result.code, result.err), (0, ""))
        return result

    def fails(self, code, says, *arguments, stdin=b"", out=b""):
        """Exits with `code`, says so on stderr, and has no data on stdout but `out`."""
        result = ingle(*arguments, stdin=stdin)
        self.assertEqual(result.code, code, result.err)
        self.assertIn(says, result.err)
        self.assertEqual(result.out, out)
        return result


class Run(Case):
    def test_memory_plan(self):
        plan = self.ok("inspect", MODEL, "--memory", "--ctx", 64, "--json").json()
        self.assertEqual(plan["context"], 64)
        self.assertEqual(plan["total_bytes"], plan["weight_bytes"] + plan["state_bytes"] + plan["workspace_bytes"])
        self.assertIn("from the allocator", self.ok("inspect", MODEL, "--memory").out.decode())

    def test_session_file(self):
        greedy = ["--json", "--temp", 0, "--raw"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved")
            first = self.ok("run", MODEL, "Hello", "-n", 4, *greedy, "--save-session", path).json()["ids"]
            again = self.ok("run", MODEL, " there", "-n", 4, *greedy, "--session", path).json()["ids"]
            self.assertEqual(again, self.ok("run", MODEL, " there", "-n", 4, *greedy, "--session", path).json()["ids"])
            self.assertNotEqual(again, self.ok("run", MODEL, " there", "-n", 4, *greedy).json()["ids"])
            self.assertEqual(len(first), 4)
            with open(path, "r+b") as f:
                f.truncate(100)
            self.fails(4, "saved", "run", MODEL, "x", "--session", path)

    def test_streams_an_answer_to_stdout_alone(self):
        result = self.ok("run", MODEL, "Hello", "-n", 5)
        self.assertTrue(result.out.endswith(b"\n"))
        result.out.decode("utf-8")  # strict

    def test_json_has_text_ids_and_finish(self):
        out = self.ok("run", MODEL, "Hello", "-n", 5, "--json").json()
        self.assertEqual(list(out), ["text", "ids", "finish"])
        self.assertEqual((len(out["ids"]), out["finish"]), (5, "length"))

    def test_a_seed_repeats_the_text_and_another_changes_it(self):
        arguments = ["run", MODEL, "Hello", "-n", 20, "--json", "--seed"]
        first, again, other = (self.ok(*arguments, seed).json() for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual(first["ids"], other["ids"])

    def test_threads_and_chunks_change_nothing(self):
        arguments = ["run", MODEL, "A prompt of some length, cut into chunks.", "-n", 16, "--json"]
        whole = self.ok(*arguments, "--threads", 1).json()
        self.assertEqual(whole, self.ok(*arguments, "--threads", 3, "--chunk", 5).json())

    def test_a_prompt_comes_from_stdin(self):
        arguments = ["-n", 8, "--json"]
        given = self.ok("run", MODEL, "Hello there", *arguments).json()
        self.assertEqual(given, self.ok("run", MODEL, *arguments, stdin=b"Hello there").json())
        self.assertEqual(given, self.ok("run", MODEL, "-", *arguments, stdin=b"Hello there").json())

    def test_what_is_piped_in_stands_before_the_prompt(self):
        arguments = ["-n", 8, "--json"]
        joined = self.ok("run", MODEL, "a text\n\nSum it up", *arguments).json()
        self.assertEqual(joined, self.ok("run", MODEL, "Sum it up", *arguments, stdin=b"a text\n").json())
        self.assertEqual(joined, self.ok("run", MODEL, "Sum it up", *arguments, stdin=b"a text").json())
        self.assertNotEqual(joined, self.ok("run", MODEL, "Sum it up", *arguments).json())

    def test_a_silent_or_closed_stdin_is_no_obstacle(self):
        arguments = [INGLE, "run", MODEL, "Hello", "-n", "4", "--json"]
        expected = self.ok(*arguments[1:]).json()
        closed = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *arguments], capture_output=True, timeout=60)
        self.assertEqual(json.loads(closed.stdout), expected)
        reader, writer = os.pipe()  # nobody ever writes to it
        silent = subprocess.run(arguments, stdin=reader, capture_output=True, timeout=60)
        os.close(reader)
        os.close(writer)
        self.assertEqual(json.loads(silent.stdout), expected)
        self.assertIn(b"stdin is open but silent", silent.stderr)

    def test_stop_strings_take_one_argument_each(self):
        text = self.ok("run", MODEL, "Hello", "-n", 30, "--json", "--temp", 0).json()["text"]
        stop = text[4]
        out = self.ok("run", "--stop", stop, "--stop", "no such text", MODEL, "Hello", "-n", 30, "--json",
                      "--temp", 0).json()
        self.assertEqual(out["finish"], "stop")
        self.assertEqual(out["text"], text[:text.index(stop)])

    def test_stops_may_be_tokens_and_may_be_kept(self):
        ask = ["run", MODEL, "Hello", "-n", 30, "--json", "--temp", 0]
        free = self.ok(*ask).json()
        text, ids = free["text"], free["ids"]
        stop = text[4:6]
        kept = self.ok(*ask, "--stop", stop, "--include-stop").json()
        self.assertEqual((kept["text"], kept["finish"]), (text[:text.index(stop) + len(stop)], "stop"))
        at = ids.index(ids[7])
        for spelled in [["--stop-id", ids[7]], ["--stop-id", f"1,{ids[7]}"], ["--stop-id", 1, "--stop-id", ids[7]]]:
            out = self.ok(*ask, *spelled).json()
            self.assertEqual(out["finish"], "stop")
            self.assertLessEqual(len(out["ids"]), at + 1)
            self.assertTrue(text.startswith(out["text"]))
        self.fails(2, "--stop-id", *ask, "--stop-id", "x")
        self.fails(2, "stop_tokens", *ask, "--stop-id", 1 << 30)

    def test_a_biased_id_is_always_or_never_taken(self):
        always = self.ok("run", MODEL, "Hello", "-n", 4, "--json", "--logit-bias", "70=1000").json()["ids"]
        self.assertEqual(always, [70] * 4)
        greedy = ["run", MODEL, "Hello", "-n", 1, "--json", "--temp", 0]
        first = self.ok(*greedy).json()["ids"][0]
        self.assertNotEqual(self.ok(*greedy, "--logit-bias", f"{first}=-inf").json()["ids"][0], first)

    def test_verbose_prints_the_chain_and_its_order(self):
        result = ingle("run", MODEL, "Hello", "-n", 2, "-v", "--presence-penalty", 0.5, "--top-k", 5,
                       "--order", "penalties,temperature,top_k")
        self.assertEqual(result.code, 0)
        self.assertIn("sampler: penalties > temperature > top_k > draw\n", result.err)
        self.fails(2, "leaves out the stage top_k", "run", MODEL, "Hello", "--top-k", 5, "--order", "min_p")
        self.fails(2, "did you mean \"top_k\"", "run", MODEL, "Hello", "--order", "topk")
        self.fails(2, "--xtc-probability: 2 is out", "run", MODEL, "Hello", "--xtc-probability", 2)

    def test_a_tool_choice_goes_with_tools(self):
        self.fails(2, "--tools", "run", MODEL, "Hello", "--tool-choice", "auto")

    def test_banned_tokens_never_come(self):
        greedy = ["run", MODEL, "Hello", "-n", 3, "--json", "--temp", 0]
        ids = self.ok(*greedy).json()["ids"]
        banned = self.ok(*greedy, "--banned-tokens", ",".join(map(str, ids))).json()["ids"]
        self.assertFalse(set(ids) & set(banned))

    def test_beams_give_the_likeliest_wholes(self):
        arguments = ["run", MODEL, "Hello", "-n", 4, "--beams", 3]
        best = self.ok(*arguments).out
        some = self.ok(*arguments, "--beam-results", 3, "--json").json()
        self.assertEqual(len(some), 3)
        self.assertEqual(some[0]["text"], best.decode()[:-1])
        scores = [beam["score"] for beam in some]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.fails(2, "groups", *arguments, "--beam-groups", 2)

    def test_guidance_changes_the_answer_and_a_scale_of_one_does_not(self):
        greedy = ["run", MODEL, "Hello", "-n", 8, "--json", "--temp", 0]
        plain = self.ok(*greedy).json()
        self.assertEqual(plain, self.ok(*greedy, "--negative", "Be dull.", "--guidance", 1).json())
        self.assertNotEqual(plain, self.ok(*greedy, "--negative", "Be dull.", "--guidance", 20).json())

    def test_stats_and_talk_go_to_stderr(self):
        result = ingle("run", MODEL, "Hello", "-n", 4, "--json", "--stats", "-v")
        self.assertEqual(result.code, 0)
        result.json()
        self.assertIn("answer 4 tokens", result.err)
        self.assertIn("kernels: ", result.err)

    def test_a_base_model_is_refused_but_continues_raw_text(self):
        base = self.edited("base.gguf", b"tokenizer.chat_template", b"tokenizer.chat_templatX")
        result = self.fails(4, "has no chat template", "run", base, "Hello")
        self.assertIn("--raw", result.err)
        self.fails(4, "has no chat template", "chat", base)
        self.assertEqual(len(self.ok("run", base, "Hello", "--raw", "-n", 3, "--json").json()["ids"]), 3)

    def test_a_template_that_cannot_be_used_is_named(self):
        broken = self.edited("broken.gguf", b"{% endfor %}", b"{% endfoo %}")
        self.fails(4, "chat template cannot be used", "run", broken, "Hello")

    def test_a_prompt_that_does_not_fit_is_refused(self):
        self.fails(6, "do not fit", "run", MODEL, "word " * 200)
        self.fails(6, "do not fit", "run", MODEL, "Hello there", "--ctx", 8)

    def test_an_answer_that_fills_the_context_is_cut_and_says_so(self):
        result = ingle("run", MODEL, "Hello", "--json", "--logit-bias", "70=1000")
        self.assertEqual(result.code, 6)
        self.assertEqual(result.json()["finish"], "context")
        self.assertIn(f"context of {N_CONTEXT} tokens is full", result.err)

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([INGLE, "run", MODEL, "Hello", "-n", "2"], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"stdout", done.stderr)


class Interrupt(Case):
    ENDLESS = ["--logit-bias", "70=1000"]

    def start(self, *arguments, **more):
        return subprocess.Popen([INGLE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment(), **more)

    def interrupt(self, process, code=130):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def test_during_an_answer(self):
        process = self.start("run", self.long_model(), "Hello", *self.ENDLESS, stdin=subprocess.DEVNULL)
        self.assertNotEqual(process.stdout.read(1), b"")
        self.interrupt(process)

    def test_during_a_prefill(self):
        prompt = self.file("prompt", b"word " * 60000)
        with open(prompt, "rb") as stdin:
            process = self.start("run", self.long_model(), "-v", stdin=stdin)
        while b"kernels: " not in process.stderr.readline():
            pass
        out, _ = self.interrupt(process)
        self.assertEqual(out, b"")

    def test_during_scoring(self):
        ids = self.file("ids", b"70 " * 100000)
        process = self.start("logprobs", self.long_model(), "--ids-file", ids, "--json", "-v")
        while b"kernels: " not in process.stderr.readline():
            pass
        out, _ = self.interrupt(process)
        self.assertEqual(out, b"")

    def test_quantize_leaves_no_part_of_a_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            folder = tempfile.mkdtemp(dir=self.folder)
            process = self.start("quantize", self.long_model(), os.path.join(folder, "out.gguf"), "q4_k")
            while not os.listdir(folder) and process.poll() is None:
                pass
            process.send_signal(number)
            process.communicate(timeout=120)
            self.assertIn(process.returncode, (0, 128 + number))  # 0: it was done before
            self.assertEqual(os.listdir(folder), ["out.gguf"] if process.returncode == 0 else [])

    def test_termination_during_an_answer(self):
        for command in ("run", "chat"):
            process = self.start(command, self.long_model(), *(["Hello"] if command == "run" else []), *self.ENDLESS,
                                 stdin=subprocess.PIPE)
            process.stdin.write(b"Hello\n")
            process.stdin.flush()
            if command == "run":
                process.stdin.close()
                process.stdin = None
            self.assertNotEqual(process.stdout.read(1), b"")
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 143, err)

    def test_while_waiting_for_input(self):
        process = self.start("chat", MODEL, "-n", "1", stdin=subprocess.PIPE)
        process.stdin.write(b"Hello\n")
        process.stdin.flush()
        process.stdout.readline()
        self.interrupt(process)

    def test_a_chat_line_ends_with_130_where_no_terminal_is(self):
        process = self.start("chat", self.long_model(), *self.ENDLESS, stdin=subprocess.PIPE)
        process.stdin.write(b"Hello\n")
        process.stdin.flush()
        self.assertNotEqual(process.stdout.read(1), b"")
        self.interrupt(process)


class Terminal(Case):
    def test_an_answer_cannot_steer_it(self):
        escape = self.ok("tokenize", MODEL, stdin=b"\x1b").out.decode().strip()
        arguments = ["run", MODEL, "--raw", "Hello", "-n", "3", "--temp", "0", "--logit-bias", escape + "=1000"]
        self.assertEqual(self.ok(*arguments).out, b"\x1b\x1b\x1b\n")
        ours, theirs = pty.openpty()
        try:
            done = subprocess.run([INGLE, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, timeout=120,
                                  env=environment())
            self.assertEqual(done.returncode, 0)
            self.assertEqual(os.read(ours, 1000), b"\\x1b" * 3 + b"\r\n")
        finally:
            os.close(ours)
            os.close(theirs)


class Chat(Case):
    def test_each_line_is_a_message_and_history_counts(self):
        arguments = ["chat", MODEL, "-n", 6, "--temp", 0]
        one = self.ok(*arguments, stdin=b"Hello\n").out
        both = self.ok(*arguments, stdin=b"Hello\nAgain\n").out
        self.assertTrue(both.startswith(one) and len(both) > len(one))
        self.assertFalse(both.endswith(self.ok(*arguments, stdin=b"Again\n").out))

    def test_undo_takes_an_exchange_back(self):
        arguments = ["chat", MODEL, "-n", 6, "--temp", 0]
        out = self.ok(*arguments, stdin=b"Hello\n/undo\nAgain\n").out
        self.assertTrue(out.endswith(self.ok(*arguments, stdin=b"Again\n").out))

    def test_regen_answers_once_more(self):
        once = self.ok("chat", MODEL, "-n", 6, "--temp", 0, stdin=b"Hello\n").out
        self.assertEqual(self.ok("chat", MODEL, "-n", 6, "--temp", 0, stdin=b"Hello\n/regen\n").out, once * 2)

    def test_commands_talk_on_stderr(self):
        result = ingle("chat", MODEL, stdin=b"/help\n/stats\n/undo\n/quit\nnever read\n")
        self.assertEqual((result.code, result.out), (0, b""))
        for text in ("/regen", "kernels: ", "nothing to take back"):
            self.assertIn(text, result.err)
        self.fails(2, "'/nosuch' is not a command", "chat", MODEL, stdin=b"/nosuch\n")

    def test_quotes_hold_a_message_of_several_lines(self):
        arguments = ["chat", MODEL, "-n", 6, "--temp", 0]
        out = self.ok(*arguments, stdin=b'"""\na\nb\n"""\n').out
        raw = "<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n".encode()
        ids = self.ok("tokenize", MODEL, "--special", stdin=raw).out.decode().replace(" ", ",")
        greedy = self.ok("logprobs", MODEL, "--ids", ids, "--greedy", 6, "--json").json()["greedy"]
        text = self.ok("detokenize", MODEL, "--jsonl", stdin=json.dumps({"ids": greedy}).encode()).json()["text"]
        self.assertEqual(out.decode(), text + "\n")

    def test_a_full_context_ends_a_line_chat(self):
        result = ingle("chat", MODEL, "--logit-bias", "70=1000", stdin=b"Hello\n")
        self.assertEqual(result.code, 6)
        self.assertIn("is full", result.err)


class Bench(Case):
    def test_json(self):
        out = self.ok("bench", "latency", MODEL, "-p", 16, "-n", 4, "-r", 2, "--json").json()
        for key in ("threads", "pp", "tg", "load_s", "peak_rss_MiB"):
            self.assertGreater(out[key], 0)
        for key in ("pp", "tg"):
            low, high = out[key + "_spread"]
            self.assertTrue(low <= out[key] <= high)

        for key in ("read_GBps", "roofline_share"):
            self.assertGreater(out[key], 0)

    def test_batches(self):
        out = self.ok("bench", "latency", MODEL, "-p", 16, "-n", 4, "-r", 1, "--batch", "1,3", "--json").json()
        self.assertGreater(out["tg1"], 0)
        self.assertGreater(out["tg3"], 0)
        out = self.ok("bench", "throughput", MODEL, "-p", 3, "-n", 2, "-r", 2, "--batch", "5", "--json").json()
        self.assertGreater(out["tg5"], 0)
        self.assertEqual(len(out["tg5_spread"]), 2)
        self.fails(2, "--batch", "bench", "throughput", MODEL, "--batch", "0")

    def test_startup(self):
        out = self.ok("bench", "startup", MODEL, "-r", 2, "--json").json()
        self.assertGreater(out["first_token_s"], out["load_s"] * 0.99)
        self.assertNotIn("cached_load_s", out)  # the model is too small for it

    def test_cancel(self):
        out = self.ok("bench", "cancel", MODEL, "-p", 64, "-r", 3, "--json").json()
        self.assertEqual(out["decode_cancels"], 3)  # the others are over too soon with so small a model, perhaps
        self.assertGreaterEqual(out["decode_cancel_ms"], 0)
        self.assertIn(b"decode   ends", self.ok("bench", "cancel", MODEL, "-p", 8, "-r", 1).out)

    def test_serve(self):
        for load in (("-c", 3), ("--rate", 2000, "--burst", 3)):
            for workload in ("random", "shared-prefix", "multi-turn", "long-with-short", "tenants"):
                out = self.ok("bench", "serve", MODEL, "-w", workload, "-p", 16, "-n", 4, "--requests", 12, "--turns", 2,
                              "--price-per-hour", 1, "--state-bytes", "1M", *load, "--json").json()
                self.assertEqual(out["requests"], 24 if workload == "multi-turn" else 12)
                self.assertEqual(out["loop"], "closed" if load[0] == "-c" else "open")
                for key in ("requests_per_s", "generated_tokens_per_s", "goodput_per_s", "price_per_million_tokens", "steps"):
                    self.assertGreater(out[key], 0)
                for key in ("first_token_ms", "per_token_ms", "between_tokens_ms", "end_to_end_ms"):
                    self.assertTrue(0 < out[key]["p50"] <= out[key]["p95"] <= out[key]["p99"])
                self.assertTrue(0 < out["fairness"]["jain"] <= 1.000001)
        self.assertIn(b"between tokens", self.ok("bench", "serve", MODEL, "-p", 4, "-n", 2, "--requests", 2).out)
        self.fails(2, "--workload", "bench", "serve", MODEL, "-w", "none")

    def test_what_is_measured_must_be_said(self):
        self.fails(2, "Usage: ingle bench", "bench")
        self.fails(2, "did you mean latency?", "bench", "latncy")
        self.fails(2, "did you mean --runs?", "bench", "latency", MODEL, "--rusn", "3")
        self.fails(3, MISSING, "bench", "latency", MISSING)


class Inspect(Case):
    def test_json(self):
        out = self.ok("inspect", MODEL, "--json").json()
        self.assertEqual(out["container"], "gguf")
        self.assertEqual(out["n_tensors"], 27)
        self.assertEqual(out["metadata"]["general.architecture"], "qwen2")
        self.assertIn("im_start", out["metadata"]["tokenizer.chat_template"])
        self.assertEqual(sum(t["tensors"] for t in out["types"].values()), out["n_tensors"])
        self.assertEqual(sum(t["bytes"] for t in out["types"].values()), out["bytes"])
        self.assertNotIn("tensors", out)

    def test_json_lists_the_tensors(self):
        out = self.ok("inspect", MODEL, "--json", "--tensors").json()
        self.assertEqual(len(out["tensors"]), out["n_tensors"])
        self.assertIn({"name": "token_embd.weight", "type": "q8_0", "shape": [320, 32], "bytes": 320 * 34},
                      out["tensors"])

    def test_text(self):
        text = self.ok("inspect", MODEL, "--tensors").out.decode()
        self.assertIn("general.architecture = qwen2", text)
        self.assertIn("320 x 32", text)

    def test_memory(self):
        def plan(*more):
            return self.ok("inspect", MODEL, "--memory", "--json", *more).json()
        whole, half, wide = plan(), plan("--ctx", 64), plan("--ctx", 64, "--state-type", "f32")
        self.assertEqual((whole["context"], half["context"]), (128, 64))
        for out in (whole, half, wide):
            self.assertEqual(out["total_bytes"], out["weight_bytes"] + out["state_bytes"] + out["workspace_bytes"])
            self.assertEqual(out["state_bytes"], out["token_bytes"] * out["context"])
            self.assertGreater(min(out["weight_bytes"], out["workspace_bytes"], out["mapped_bytes"]), 0)
        self.assertEqual(wide["state_bytes"], 2 * half["state_bytes"])
        self.assertEqual(plan("--backend", "ref")["weight_bytes"], 0)  # as the file has them
        self.assertEqual(plan("--no-map", "--backend", "ref")["mapped_bytes"], 0)
        text = self.ok("inspect", MODEL, "--memory", "--ctx", 64).out.decode()
        for word in ("weights", "state", "of 64 tokens; 128 bytes for one more", "workspace", "total", "mapped"):
            self.assertIn(word, text)
        self.assertNotIn("general.architecture", text)
        self.assertIn("expected 1 to 128", self.fails(2, "context", "inspect", MODEL, "--memory", "--ctx", 129).err)
        self.fails(2, "state_type", "inspect", MODEL, "--memory", "--state-type", "f8")

    def test_what_a_file_says_cannot_steer_a_terminal_nor_break_json(self):
        name = b"ingle-golden-qwen2"
        path = self.edited("escape.gguf", name, b"\x1b[31m\xff\xc2\x9bx".ljust(len(name), b"."))
        text = self.ok("inspect", path).out
        self.assertNotIn(b"\x1b", text)
        self.assertNotIn(b"\xc2\x9b", text)
        self.assertIn("\x1b[31m\ufffd", self.ok("inspect", path, "--json").json()["metadata"]["general.name"])


class Template(Case):
    def lines(self, what, *objects, flags=()):
        stdin = "".join(json.dumps(o) + "\n" for o in objects).encode()
        return [json.loads(line) for line in self.ok("template", what, "--jsonl", *flags, stdin=stdin).out.splitlines()]

    def test_each_line_is_rendered_or_says_why_not(self):
        source = (b"{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% else %}"
                  b"{{ raise_exception('nobody spoke') }}{% endfor %}{{ strftime_now('%d %b %Y') }}")
        path = self.file("chat.jinja", source)
        hi = {"messages": [{"role": "user", "content": "Hi"}]}
        got = self.lines(path, hi, {**hi, "bos_token": "<b>"}, {"messages": []}, {},
                         flags=("--now", "2024-07-26 14:05:09", "--bos", "<s>", "--eos", ""))
        self.assertEqual(got[:2], [{"output": "<s>Hi26 Jul 2024"}, {"output": "<b>Hi26 Jul 2024"}])
        self.assertEqual(got[2]["error"], "nobody spoke")
        self.assertIn("error", got[3])

    def test_a_models_own(self):
        got = self.lines(MODEL, {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True})
        self.assertTrue(got[0]["output"].endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"))

    def test_a_folder_with_a_template_alone(self):
        os.mkdir(os.path.join(self.folder, "alone"))
        folder = os.path.dirname(self.file("alone/chat_template.jinja", b"[{{ eos_token }}]{{ x }}"))
        self.assertEqual(self.lines(folder, {"x": 1}), [{"output": "[]1"}])
        self.file("alone/tokenizer.json", b"{")
        self.fails(4, "tokenizer.json", "template", folder, "--jsonl")

    def test_wrong_calls_are_named(self):
        path = self.file("chat.jinja", b"x")
        self.fails(2, "2024-02-30", "template", path, "--jsonl", "--now", "2024-02-30 00:00:00")
        self.fails(4, "chat.jinja:1:", "template", self.file("chat.jinja", b"{% if %}"), "--jsonl")
        self.fails(3, "nowhere", "template", "nowhere", "--jsonl")


class Constrain(Case):
    SCHEMA = b'{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'

    def judged(self, *arguments, texts):
        stdin = "".join(json.dumps({"text": t}) + "\n" for t in texts).encode()
        return [json.loads(line)["accepts"]
                for line in self.ok("constrain", *arguments, "--jsonl", stdin=stdin).out.splitlines()]

    def test_texts_are_judged_line_by_line(self):
        schema = self.file("schema.json", self.SCHEMA)
        texts = ['{"n": 1}', ' {"m": [], "n": 10e1} ', '{"n": "1"}', '{}', '{"n": 1', ""]
        self.assertEqual(self.judged("--schema", schema, texts=texts), [True, True, False, False, False, False])
        self.assertEqual(self.judged("--schema", schema, "--compact", texts=texts[:2]), [False, False])
        self.assertEqual(self.judged("--regex", r"\d{2}", texts=["12", "123", ""]), [True, False, False])

    def test_what_cannot_be_held_is_named(self):
        for schema, where in ((b'{"properties": {"a": {"$ref": "other.json"}}}', "#/properties/a"), (b'{"type": 3}', "#/type"),
                              (b'[', "schema")):
            result = ingle("constrain", "--schema", self.file("schema.json", schema), "--jsonl")
            self.assertEqual(result.code, 7)
            self.assertIn(where, result.json()["where"])
            self.assertTrue(result.json()["error"])
        self.fails(2, "expected one of", "constrain", "--jsonl")

    def test_an_answer_fulfils_its_schema(self):
        schema = self.file("schema.json", b'{"type": "array", "items": {"enum": ["red", 7]}, "minItems": 2, "maxItems": 3}')
        for seed in range(3):
            answer = json.loads(self.ok("run", MODEL, "Hello", "--json-schema", schema, "--temp", "1", "--seed",
                                        str(seed)).out)
            self.assertIn(len(answer), (2, 3))
            self.assertTrue(set(answer) <= {"red", 7})


class Tokens(Case):
    def lines(self, command, *objects):
        stdin = "".join(json.dumps(o) + "\n" for o in objects).encode()
        return [json.loads(line) for line in self.ok(command, MODEL, "--jsonl", stdin=stdin).out.splitlines()]

    def test_jsonl_both_ways(self):
        texts = ["Hello there", "", "naïve ☃ 漢字\n\ttext", "<|im_start|>user"]
        ids = self.lines("tokenize", *({"text": t} for t in texts))
        self.assertEqual([list(line) for line in ids], [["ids"]] * len(texts))
        self.assertEqual(self.lines("detokenize", *ids), [{"text": t} for t in texts])

    def test_special_tokens_are_text_unless_asked_for(self):
        text = "<|im_start|>hi"
        plain, special, added = self.lines("tokenize", {"text": text}, {"text": text, "special": True},
                                           {"text": "hi", "add_special": True})
        self.assertNotIn(IM_START, plain["ids"])
        self.assertEqual(special["ids"][0], IM_START)
        self.assertEqual(self.lines("detokenize", {**special, "skip_special": True}), [{"text": "hi"}])
        self.assertEqual(self.lines("detokenize", special), [{"text": text}])
        self.assertIn("hi", self.lines("detokenize", {**added, "skip_special": True})[0]["text"])

    def test_broken_characters_survive_json(self):
        snowman = self.lines("tokenize", {"text": "☃"})[0]["ids"]
        self.assertGreater(len(snowman), 1)
        self.assertEqual(self.lines("detokenize", {"ids": snowman[:1]}), [{"text": "\ufffd"}])

    def test_plain_text_and_ids(self):
        ids = self.ok("tokenize", MODEL, "Hello there").out
        self.assertEqual(ids, self.ok("tokenize", MODEL, stdin=b"Hello there").out)
        self.assertEqual(self.ok("detokenize", MODEL, ids.decode()).out, b"Hello there\n")
        self.assertEqual(self.ok("detokenize", MODEL, stdin=ids.replace(b" ", b", ")).out, b"Hello there\n")
        self.assertEqual(self.ok("tokenize", MODEL, "").out, b"\n")
        pieces = self.ok("tokenize", MODEL, "Hello there", "--pieces").out.decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in pieces], ids.decode().split())

    def test_each_line_is_answered_at_once(self):
        process = subprocess.Popen([INGLE, "tokenize", MODEL, "--jsonl"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        for text in ("a", "b"):  # a reply that waits in a buffer would hang this
            process.stdin.write(json.dumps({"text": text}).encode() + b"\n")
            process.stdin.flush()
            self.assertIn("ids", json.loads(process.stdout.readline()))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_wrong_lines_are_named(self):
        good = json.dumps({"text": "a"}).encode() + b"\n"
        for line, says in ((b"[]", "is not a JSON object"), (b"{", "is not a JSON object"),
                           (b'{"text":"\xff"}', "is not a JSON object in UTF-8"), (b"{}", '"text" is missing'),
                           (b'{"text":1}', '"text" is missing or not a string'),
                           (b'{"text":"a","special":1}', '"special" is not true or false')):
            result = ingle("tokenize", MODEL, "--jsonl", stdin=good + line + b"\n")
            self.assertEqual(result.code, 2)
            self.assertIn("stdin, line 2", result.err)
            self.assertIn(says, result.err)
        for line, says in ((b'{"ids":[4294967297]}', "4294967297 is not a token id"), (b'{"ids":[1.5]}', "1.5"),
                           (b'{"ids":["1"]}', "is not a token id"), (b'{"ids":3}', "not an array"),
                           (b'{"ids":[%d]}' % N_VOCAB, str(N_VOCAB)), (b'{"ids":[-1]}', "-1")):
            self.fails(2, says, "detokenize", MODEL, "--jsonl", stdin=line + b"\n")


class Logprobs(Case):
    def test_json(self):
        out = self.ok("logprobs", MODEL, "--ids", "1,2,3", "--top", 4, "--greedy", 5, "--json").json()
        self.assertEqual(list(out), ["ids", "top", "greedy"])
        self.assertEqual(out["ids"], [1, 2, 3])
        self.assertEqual([len(row) for row in out["top"]], [4, 4, 4])
        self.assertEqual(len(out["greedy"]), 5)
        for row in out["top"]:
            logprobs = [p for _, p in row]
            self.assertEqual(logprobs, sorted(logprobs, reverse=True))
            self.assertTrue(all(p < 0 for p in logprobs))
        self.assertEqual(out["top"][2][0][0], out["greedy"][0])

    def test_the_logarithms_are_natural_and_whole_rows_sum_to_one(self):
        row = self.ok("logprobs", MODEL, "--ids", BOS, "--top", 100000, "--json").json()["top"][0]
        self.assertEqual(sorted(i for i, _ in row), list(range(N_VOCAB)))
        self.assertAlmostEqual(sum(2.718281828459045 ** p for _, p in row), 1, places=5)

    def test_files_chunks_and_threads_give_the_same(self):
        ids = list(range(10, 80))
        path = self.file("prompt.ids", " ".join(map(str, ids)).encode())
        same = [self.ok("logprobs", MODEL, *how, "--top", 3, "--greedy", 3, "--json").out
                for how in (["--ids", ",".join(map(str, ids))], ["--ids-file", path], ["--ids-file", path, "--chunk", 7],
                            ["--ids-file", path, "--threads", 3])]
        self.assertEqual(same, same[:1] * len(same))

    def test_the_reference_is_near(self):
        arguments = ["logprobs", MODEL, "--ids", "1,20,30,40", "--top", N_VOCAB, "--json"]
        fast, plain, ref = (self.ok(*arguments, *more).json()["top"]
                            for more in ([], ["--kernel", "plain"], ["--kernel", "ref"]))
        self.assertEqual(fast, plain)
        for a, b in zip(fast, ref):
            b = dict(map(tuple, b))
            self.assertLess(max(abs(p - b[i]) for i, p in a), 0.05)
        self.assertEqual(ref, self.ok(*arguments, env={"INGLE_KERNEL": "ref"}).json()["top"])

    def test_greedy_goes_on_past_the_end_of_the_text(self):
        greedy = self.ok("logprobs", MODEL, "--ids", "1", "--greedy", N_CONTEXT, "--json").json()["greedy"]
        self.assertEqual(len(greedy), N_CONTEXT)

    def test_text(self):
        lines = self.ok("logprobs", MODEL, "--ids", "5,6", "--greedy", 2).out.decode().splitlines()
        self.assertEqual([line.split("\t")[:2] for line in lines[:2]], [["0", "5"], ["1", "6"]])
        self.assertEqual(len(json.loads(lines[2].split("\t")[1])), 2)

    def test_wrong_ids_are_named(self):
        self.fails(2, "no ids", "logprobs", MODEL)
        self.fails(2, "'x' does not begin with a token id", "logprobs", MODEL, "--ids", "1,x")
        self.fails(2, str(N_VOCAB), "logprobs", MODEL, "--ids", N_VOCAB)
        self.fails(2, "excludes", "logprobs", MODEL, "--ids", 1, "--ids-file", MODEL)
        self.fails(2, "--ids: '99999999999' is too large", "logprobs", MODEL, "--ids", "7,99999999999")
        self.fails(3, "/no/ids: cannot be read: No such file", "logprobs", MODEL, "--ids-file", "/no/ids")
        self.fails(1, self.folder + ": cannot be read: Is a dir", "logprobs", MODEL, "--ids-file", self.folder)
        self.fails(3, "'': cannot be read", "logprobs", MODEL, "--ids-file", "")
        self.fails(2, "--ids-file: no ids", "logprobs", MODEL, "--ids-file", "/dev/null")
        self.fails(6, "do not fit the context of 128", "logprobs", MODEL, "--ids", 1, "--greedy", N_CONTEXT + 1)
        self.fails(6, "do not fit the context of 4", "logprobs", MODEL, "--ids", "1,2,3,4,5", "--ctx", 4)


class Quantize(Case):
    def types(self, path):
        return set(self.ok("inspect", path, "--json").json()["types"])

    def test_each_type_loads_and_runs(self):
        for kind in ("q4_0", "q5_1", "f16", "bf16"):
            to = os.path.join(self.folder, kind + ".gguf")
            self.assertEqual(self.ok("quantize", MODEL, to, kind).out, b"")
            self.assertEqual(self.types(to), {"f32", kind})
            self.assertEqual(len(self.ok("run", to, "Hello", "-n", 3, "--json").json()["ids"]), 3)

    def test_a_wider_type_keeps_the_values(self):
        to = os.path.join(self.folder, "wide.gguf")
        self.ok("quantize", MODEL, to, "f32")
        arguments = ["--ids", "1,20,30", "--top", 5, "--kernel", "ref", "--json"]
        self.assertEqual(self.ok("logprobs", MODEL, *arguments).out, self.ok("logprobs", to, *arguments).out)

    def test_the_input_is_never_touched(self):
        copy = self.file("copy.gguf", self.bytes)
        link = os.path.join(self.folder, "link.gguf")
        os.symlink(copy, link)
        for to in (copy, os.path.join(self.folder, ".", "copy.gguf"), link):
            self.fails(2, "is the input itself", "quantize", copy, to, "q4_0")
        with open(copy, "rb") as f:
            self.assertEqual(f.read(), self.bytes)

    def test_no_part_of_a_split_input_is_touched(self):
        source = os.path.join(os.path.dirname(os.path.dirname(MODEL)), "formats")
        parts = ["split-00001-of-00002.gguf", "split-00002-of-00002.gguf"]
        paths = [shutil.copy(os.path.join(source, part), self.folder) for part in parts]
        for to in paths:
            self.fails(2, "is the input itself", "quantize", paths[0], to, "f16")
        for part, path in zip(parts, paths):
            with open(os.path.join(source, part), "rb") as a, open(path, "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_only_a_file_is_replaced(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        self.fails(1, "no regular file", "quantize", MODEL, pipe, "q4_0")
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.fails(1, "is a directory", "quantize", MODEL, self.folder, "q4_0")
        self.fails(2, "is empty", "quantize", MODEL, "", "q4_0")

    def test_a_limit_on_file_sizes_leaves_no_file(self):
        to = os.path.join(self.folder, "limited.gguf")
        done = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", INGLE, "quantize", MODEL, to, "f32"],
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"File too large", done.stderr)
        self.assertFalse(os.path.exists(to) or os.path.exists(to + ".part"))

    def test_failures_leave_no_file(self):
        to = os.path.join(self.folder, "not.gguf")
        result = self.fails(2, "'q99' cannot be written", "quantize", MODEL, to, "q99")
        self.assertIn("q4_k", result.err)
        self.fails(3, MISSING, "quantize", MISSING, to, "q4_0")
        self.fails(4, "", "quantize", self.file("cut.gguf", self.bytes[:20000]), to, "q4_0")
        self.fails(1, "/no/such/folder", "quantize", MODEL, "/no/such/folder/x.gguf", "q4_0")
        self.assertFalse(any(name.startswith("not.gguf") for name in os.listdir(self.folder)))


class Doctor(Case):
    def test_json(self):
        out = self.ok("doctor", "--json").json()
        self.assertEqual(out["self_test"], "ok")
        self.assertGreaterEqual(out["threads"], 1)
        self.assertGreater(out["memory_bytes"], 0)
        self.assertIn("cpu", out["backends"])
        for kernel in out["kernels"]:
            self.assertEqual(kernel["runs"], kernel["reason"] == "")
        plugins = {p["name"]: p for p in out["plugins"]}
        for name in ("eigen", "onednn", "openblas"):
            self.assertEqual(plugins[name]["runs"], os.path.exists(plugins[name]["path"]))
            self.assertTrue(plugins[name]["about"])

    def test_cache(self):
        folder = os.path.join(self.folder, "caches", "ingle")
        os.makedirs(folder)
        for name in ("0123456789abcdef" * 2 + ".weights", "0123456789abcdef" * 2 + ".weights.part", "mine.weights"):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(bytes(1000))
        cached = lambda *arguments, **env: self.ok("doctor", "--json", *arguments, env=env).json()["cache"]
        self.assertEqual(cached(XDG_CACHE_HOME=os.path.dirname(folder)), {"folder": folder, "files": 1, "bytes": 1000})
        self.assertEqual(cached(INGLE_CACHE=folder)["files"], 1)
        self.assertEqual(cached("--cache", folder, INGLE_CACHE="off")["files"], 1)
        self.assertEqual(cached(XDG_CACHE_HOME="", HOME="/no/such")["folder"], "/no/such/.cache/ingle")
        self.assertEqual(cached(XDG_CACHE_HOME="relative", HOME="")["folder"], "")
        self.assertEqual(cached("--no-cache", INGLE_CACHE=folder)["folder"], "")
        self.assertIn("packed weights: not kept", self.ok("doctor", "--cache", "off").out.decode())
        self.assertIn(folder + ", 1 files", self.ok("doctor", "--cache", folder).out.decode())
        gone = self.ok("doctor", "--clear-cache", "--json", "--cache", folder).json()
        self.assertEqual(gone, {"folder": folder, "files": 1, "bytes": 1000})
        self.assertEqual(os.listdir(folder), ["mine.weights"])
        self.assertEqual(self.ok("doctor", "--clear-cache", "--no-cache").out.decode(), "removed 0 files, 0.0 MB\n")

    def test_plugins(self):
        text = self.ok("doctor", "--plugins", self.folder).out.decode()
        self.assertRegex(text, r"eigen +not: there is no libingle_backend_eigen\.so in " + re.escape(self.folder))
        for p in self.ok("doctor", "--json").json()["plugins"]:
            if p["runs"]:
                done = ingle("logprobs", MODEL, "--ids", "1,2,3", "--backend", p["name"], "-v", "--json")
                self.assertEqual(done.code, 0, done.err)
                self.assertIn(p["name"] + "_f32", done.err)
        self.fails(3, "libingle_backend_nosuch.so", "run", MODEL, "x", "--backend", "nosuch")
        self.fails(3, "/no/such/lib.so", "run", MODEL, "x", "--backend", "plugin:/no/such/lib.so")

    def test_text_and_threads(self):
        text = self.ok("doctor", "--threads", 3).out.decode()
        self.assertIn("threads: 3\n", text)
        self.assertTrue(text.endswith("self-test: ok\n"))


class Models(Case):
    """What is wrong with a model, for every command that takes one."""
    COMMANDS = {"run": ["Hello"], "chat": [], "inspect": [], "tokenize": ["Hello"], "detokenize": ["1"],
                "logprobs": ["--ids", "1"]}

    def test_missing(self):
        for command, more in self.COMMANDS.items():
            self.fails(3, MISSING, command, MISSING, *more)

    def test_damaged(self):
        damaged = {"empty": b"", "text": b"not a model at all, but long enough to have a header" * 4,
                   "cut header": self.bytes[:100], "cut": self.bytes[:-2000]}
        for name, content in damaged.items():
            path = self.file(name, content)
            for command, more in self.COMMANDS.items():
                with self.subTest(name, command=command):
                    self.fails(4, path, command, path, *more)

    def test_unknown_architecture(self):
        value = b"general.architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00qwen2"
        path = self.edited("unknown.gguf", value, value[:-1] + b"X")
        self.fails(4, "'qwenX' is not known", "run", path, "Hello")
        self.ok("inspect", path)

    def test_a_folder_without_a_model_is_named(self):
        self.fails(3, "the folder has no config.json", "run", self.folder, "Hello")

    def test_unmapped(self):
        arguments = ["run", MODEL, "Hello", "-n", 4, "--json"]
        self.assertEqual(self.ok(*arguments).out, self.ok(*arguments, "--no-map").out)


class Streams(Case):
    """stdin and stdout that are closed, full or no text."""
    COMMANDS = (["run", MODEL, "Hello", "-n", "2"], ["inspect", MODEL], ["tokenize", MODEL, "Hello"],
                ["detokenize", MODEL, "5"], ["logprobs", MODEL, "--ids", "1", "--json"], ["--help"], ["--version"],
                ["run", "--help"])

    def shell(self, redirection, *arguments):
        return Result(subprocess.run(["sh", "-c", f'"$@" {redirection}', "sh", INGLE, *arguments],
                                     capture_output=True, timeout=60, env=environment(), stdin=subprocess.DEVNULL))

    def test_what_cannot_be_written_is_an_error(self):
        for arguments in self.COMMANDS:
            for redirection in (">/dev/full", ">&-"):
                with self.subTest(arguments, to=redirection):
                    result = self.shell(redirection, *arguments)
                    self.assertEqual((result.code, result.err), (1, "ingle: stdout: cannot be written\n"))

    def test_an_answer_that_cannot_be_written_is_not_gone_on_with(self):
        self.assertEqual(self.shell(">/dev/full", "run", self.long_model(), "Hello", *Interrupt.ENDLESS).code, 1)

    def test_a_closed_stdin_is_an_empty_one(self):
        # The model must not be opened as stdin and be read as text.
        for arguments in (["chat", MODEL, "-n", "1"], ["chat", MODEL, "-n", "1", "--no-map"]):
            result = self.shell("<&-", *arguments)
            self.assertEqual((result.code, result.out, result.err), (0, b"", ""))
        self.assertIn("PROMPT: is empty", self.shell("<&-", "run", MODEL).err)
        self.assertEqual(self.shell("<&-", "tokenize", MODEL).out, b"\n")

    def test_a_stdin_that_cannot_be_read_is_an_error(self):
        for arguments in (["run", MODEL], ["chat", MODEL], ["tokenize", MODEL], ["tokenize", MODEL, "--jsonl"],
                          ["detokenize", MODEL]):
            with self.subTest(arguments):
                result = self.shell("</", *arguments)
                self.assertEqual((result.code, result.out), (1, b""))
                self.assertIn("stdin: cannot be read: Is a directory", result.err)


class Perplexity(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = os.path.join(cls.folder, "text")
        words = [f"The {i}th line says {'what ' * (i % 4)}it is, and no more than that.\n" for i in range(60)]
        with open(cls.text, "w") as f:
            f.write("".join(words))

    def ids(self):
        with open(self.text, "rb") as f:
            return list(map(int, self.ok("tokenize", MODEL, "--add-special", stdin=f.read()).out.split()))

    def logprobs(self, ids):
        """The log-probability of each id after those before it."""
        rows = self.ok("logprobs", MODEL, "--ids", ",".join(map(str, ids)), "--top", N_VOCAB, "--json").json()["top"]
        return [dict(map(tuple, row))[i] for row, i in zip(rows, ids[1:])]

    def expected(self, windows, counted, context):
        bos = [BOS] if self.ids()[0] == BOS else []
        values = []
        for start in windows:
            window = self.ids()[start:start + context]
            values += self.logprobs(bos + window[len(bos):])[-counted:]
        return values

    def score(self, *arguments):
        return self.ok("perplexity", MODEL, *arguments, "--json").json()

    def test_it_is_that_of_the_second_halves(self):
        out = self.score("--file", self.text, "--context", 32, "--windows", 3)
        values = self.expected([0, 32, 64], 15, 32)
        self.assertEqual((out["tokens"], out["windows"]), (45, 3))
        self.assertAlmostEqual(math.log(out["perplexity"]), -sum(values) / 45, places=4)
        mean = sum(values) / 45
        deviation = math.sqrt((sum(v * v for v in values) / 45 - mean * mean) / 44)
        self.assertAlmostEqual(out["error"] / out["perplexity"], deviation, places=4)

    def test_windows_may_overlap(self):
        out = self.score("--file", self.text, "--context", 32, "--stride", 8, "--windows", 4)
        values = self.expected([0, 8, 16, 24], 8, 32)
        self.assertAlmostEqual(math.log(out["perplexity"]), -sum(values) / len(values), places=4)
        everything = self.score("--file", self.text, "--context", 32, "--stride", 8)
        self.assertEqual(everything["windows"], (len(self.ids()) - 32) // 8 + 1)

    def test_a_reference(self):
        kld = os.path.join(self.folder, "small.kld")
        saved = self.score("--file", self.text, "--context", 32, "--windows", 3, "--save-reference", kld)
        self.assertEqual(os.path.getsize(kld), 20 + 3 * (32 * 4 + 15 * 2 * (N_VOCAB + 4)))
        same = self.score("--reference", kld)
        self.assertEqual(same["perplexity"], saved["perplexity"])
        found = same["divergence"]
        self.assertLess(abs(found["mean"]), 1e-6)
        self.assertEqual(found["same_top"], 1)
        self.assertAlmostEqual(found["reference_perplexity"] / saved["perplexity"], 1, places=4)

        other = os.path.join(self.folder, "q4.gguf")
        self.ok("quantize", MODEL, other, "q4_0", "--quiet")
        found = self.ok("perplexity", other, "--reference", kld, "--json").json()["divergence"]
        self.assertGreater(found["mean"], 1e-5)
        self.assertLess(found["same_top"], 1.0)
        values = [found["percentiles"][p] for p in ("0", "1", "5", "10", "50", "90", "95", "99", "100")]
        self.assertEqual(values, sorted(values))
        self.assertTrue(values[0] <= found["mean"] <= values[-1])
        self.assertEqual(ingle("perplexity", other, "--reference", kld, "--max-kl", found["mean"] / 2, "-q").code, 7)
        self.assertEqual(ingle("perplexity", other, "--reference", kld, "--max-kl", found["mean"] * 2, "-q").code, 0)
        text = self.ok("perplexity", other, "--reference", kld, "-q").out.decode()
        self.assertRegex(text, r"divergence +0\.\d+ ± 0\.\d+\n")

    def test_the_divergence_is_that_of_the_probabilities(self):
        kld = os.path.join(self.folder, "one.kld")
        self.score("--file", self.text, "--context", 4, "--windows", 1, "--save-reference", kld)
        other = os.path.join(self.folder, "q4_1.gguf")
        self.ok("quantize", MODEL, other, "q4_1", "--quiet")
        window = self.ids()[:4]  # of which the last counts alone
        rows = [dict(map(tuple, self.ok("logprobs", model, "--ids", ",".join(map(str, window)), "--top", N_VOCAB,
                                        "--json").json()["top"][2])) for model in (MODEL, other)]
        expected = sum(math.exp(p) * (p - rows[1][i]) for i, p in rows[0].items())
        found = self.ok("perplexity", other, "--reference", kld, "--json").json()["divergence"]
        self.assertAlmostEqual(found["mean"], expected, places=4)

    def test_broken_references_are_named(self):
        kld = os.path.join(self.folder, "whole.kld")
        self.score("--file", self.text, "--context", 8, "--windows", 2, "--save-reference", kld)
        with open(kld, "rb") as f:
            whole = f.read()
        for name, content, says in (("magic", b"_LOGITS_" + whole[8:], "does not begin with"),
                                    ("short", whole[:-1], "bytes after its head"), ("head", whole[:15], "too early"),
                                    ("long", whole + b"x", "bytes after its head"),
                                    ("count", whole[:16] + b"\xff\xff\xff\x7f" + whole[20:], "bytes after its head"),
                                    ("negative", whole[:8] + b"\xff\xff\xff\xff" + whole[12:], "windows of -1"),
                                    ("token", whole[:20] + b"\xff\xff\xff\x7f" + whole[24:], "has the token"),
                                    ("scale", whole[:84] + b"\x00\x00\xc0\x7f" + whole[88:], "no numbers")):
            with self.subTest(name):
                self.fails(4, says, "perplexity", MODEL, "--reference", self.file(name + ".kld", content))
        vocab = whole[:12] + (N_VOCAB - 1).to_bytes(4, "little") + whole[16:]
        self.fails(2, "vocabulary of 319", "perplexity", MODEL, "--reference", self.file("vocab.kld", vocab))
        self.fails(3, "missing.kld", "perplexity", MODEL, "--reference", os.path.join(self.folder, "missing.kld"))

    def test_wrong_arguments(self):
        for says, arguments in (("--file", []), ("expected at least a window", ["--file", self.text, "--ctx", "100k"]),
                                ("--stride", ["--file", self.text, "--ctx", 8, "--stride", 8]),
                                ("--reference", ["--file", self.text, "--max-kl", 1]),
                                ("context", ["--file", self.text, "--ctx", N_CONTEXT + 1])):
            with self.subTest(says):
                self.fails(2, says, "perplexity", MODEL, *arguments)
        self.fails(3, "/no/such/text: cannot be read: No such file", "perplexity", MODEL, "--file", "/no/such/text")
        for option in ("--grammar", "--json-schema"):
            self.fails(3, "/no/such/text: cannot be read", "run", MODEL, "Hello", option, "/no/such/text")
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".part")], [])


class Shell(Case):
    COMMANDS = ("run", "chat", "inspect", "tokenize", "detokenize", "logprobs", "quantize", "doctor", "perplexity",
                "template", "bench", "completion", "man")

    def flags(self, *command):
        """The options that the help lists."""
        names = re.findall(r"^  (-[^ ]+)", self.ok(*command, "--help").out.decode(), re.M)
        self.assertIn("-h,--help", names)
        return {name for group in names for name in group.split(",") if name.startswith("--")}

    def test_every_option_completes_in_every_shell(self):
        texts = {shell: self.ok("completion", shell).out.decode() for shell in ("bash", "zsh", "fish")}
        for command in [(c,) for c in self.COMMANDS if c != "bench"] + [("bench", "latency")]:
            for flag in self.flags(*command):
                self.assertIn(flag, texts["bash"])
                self.assertRegex(texts["zsh"], re.escape(flag) + r"=?\[")
                self.assertIn(" -l " + flag[2:], texts["fish"])

    def complete(self, *words):
        script = self.ok("completion", "bash").out.decode()
        quoted = " ".join(shlex.quote(w) for w in words)
        script += f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _ingle; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode().split()

    def test_bash(self):
        self.assertEqual(self.complete("ingle", "ins"), ["inspect"])
        self.assertLessEqual({"--top-k", "--top-p"}, set(self.complete("ingle", "run", "m.gguf", "--top-")))
        self.assertEqual(self.complete("ingle", "run", "m.gguf", ""), [])  # a file, or a prompt
        self.assertEqual(self.complete("ingle", "bench", "lat"), ["latency"])
        self.assertEqual(self.complete("ingle", "bench", "latency", "--ru"), ["--runs"])
        self.assertEqual(self.complete("ingle", "completion", "z"), ["zsh"])
        self.assertEqual(self.complete("ingle", "help", "per"), ["perplexity"])
        self.assertIn("--version", self.complete("ingle", "--"))

    def test_other_shells_understand_theirs(self):
        for shell in ("zsh", "fish"):
            if not shutil.which(shell):
                print(f"skipped: completion in {shell}: it is not installed")
                continue
            path = self.file("completion." + shell, self.ok("completion", shell).out)
            self.assertEqual(subprocess.run([shell, "-n", path], capture_output=True).stderr, b"")

    def test_wrong_shells(self):
        self.fails(2, "SHELL", "completion")
        self.fails(2, "tcsh", "completion", "tcsh")

    def test_the_manual_has_everything(self):
        page = self.ok("man").out.decode()
        plain = page.replace("\\-", "-")
        for command in self.COMMANDS:
            self.assertIn(f'.SS "ingle {command}', plain)
            for flag in self.flags(command):
                self.assertIn(f"\\fB{flag}\\fR", plain)
        self.assertIn("130 interrupted", plain)
        if not shutil.which("groff"):
            return print("skipped: the manual page as groff shows it: it is not installed")
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww"], input=page.encode(), capture_output=True)
        self.assertEqual((shown.returncode, shown.stderr), (0, b""))


class Usage(Case):
    def test_help_says_what_and_how(self):
        top = self.ok("--help").out.decode()
        for command in ("run", "chat", "inspect", "tokenize", "detokenize", "logprobs", "quantize", "doctor",
                        "perplexity", "bench", "completion", "man"):
            self.assertIn("\n  " + command, top)
            text = self.ok(command, "--help").out.decode()
            self.assertGreaterEqual(text.count("  ingle ") + text.count("| ingle "), 2, command)
            self.assertEqual(text, self.ok("help", command).out.decode())
        self.assertEqual(top, self.ok("help").out.decode())

    def test_version(self):
        self.assertRegex(self.ok("--version").out.decode(), r"^ingle \d+\.\d+\.\d+\n$")

    def test_no_command(self):
        self.fails(2, "Usage: ingle")

    def test_near_misses(self):
        for arguments, meant in ((["rnu"], "did you mean run?"), (["inspct", MODEL], "did you mean inspect?"),
                                 (["--verson"], "did you mean --version?"),
                                 (["run", MODEL, "x", "--thread", "3"], "did you mean --threads?"),
                                 (["run", MODEL, "x", "--max-token=3"], "did you mean --max-tokens?"),
                                 (["doctor", "--jsno"], "did you mean --json?"),
                                 (["run", MODEL, "x", "--schema", "f"], "did you mean --json-schema?")):
            self.fails(2, meant, *arguments)
        self.assertNotIn("did you mean", self.fails(2, "no option '--zzzzzzzz'", "doctor", "--zzzzzzzz").err)

    def test_wrong_arguments(self):
        for says, arguments in (("MODEL", ["run"]), ("too many", ["run", MODEL, "a", "b"]),
                                ("--raw", ["run", MODEL, "a", "--raw", "-s", "b"]),
                                ("--temp: 101 is out of range, expected 0 to 100", ["run", MODEL, "a", "--temp", "101"]),
                                ("--temp: is 'hot', expected a number", ["run", MODEL, "a", "--temp", "hot"]),
                                ("--prompt: is '0', expected 1 to", ["bench", "latency", MODEL, "-p", "0"]),
                                ("--runs: is 'many', expected 1 to", ["bench", "latency", MODEL, "-r", "many"]),
                                ("--workload: is 'x', expected one of random, ", ["bench", "serve", MODEL, "-w", "x"]),
                                ("--top-k: 1.5 is not", ["run", MODEL, "a", "--top-k", "1.5"]),
                                ("--max-tokens", ["run", MODEL, "a", "-n", "-2"]),
                                ("'8z'", ["run", MODEL, "a", "--ctx", "8z"]),
                                ("8192", ["run", MODEL, "a", "--ctx", "8k"]),  # more than it was trained for
                                ("--chunk: is 9k, expected 1 to 8192", ["run", MODEL, "a", "--chunk", "9k"]),
                                ("--chunk", ["run", MODEL, "a", "--chunk", "0"]),
                                ("ID=VALUE", ["run", MODEL, "a", "--logit-bias", "3"]),
                                ("--logit-bias: 'x=1'", ["run", MODEL, "a", "--logit-bias", "x=1"]),
                                ("--threads: is 1000", ["run", MODEL, "a", "--threads", "1000"]),
                                ("--threads: ''", ["run", MODEL, "a", "--threads", ""]),
                                ("--seed: is '-1'", ["run", MODEL, "a", "--seed", "-1"]),
                                ("--seed: is '18446744073709551616'",
                                 ["run", MODEL, "a", "--seed", "18446744073709551616"]),
                                ("state_type", ["run", MODEL, "a", "--state-type", "q3"]),
                                ("'nosuch'", ["doctor", "--kernel", "nosuch"]),
                                ("is empty", ["run", MODEL, ""]), ("is empty", ["run", MODEL])):
            with self.subTest(says):
                self.fails(2, says, *arguments)

    def test_a_wrong_variable_is_named(self):
        result = ingle("run", MODEL, "Hello", env={"INGLE_THREADS": "abc"})
        self.assertEqual(result.code, 2)
        self.assertIn("INGLE_THREADS: 'abc'", result.err)

    def test_what_a_file_is_not(self):
        self.fails(4, "is empty", "run", self.file("empty.gguf", b""), "Hello")
        self.fails(4, "does not start with 'GGUF'", "template", self.file("text.gguf", b"{{ x }}"), "--jsonl")

    def test_sizes_are_of_1024(self):
        self.ok("run", self.long_model(), "Hello", "-n", 1, "--ctx", "1M", "--chunk", "8k")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
