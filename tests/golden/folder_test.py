#!/usr/bin/env python3
"""A real model as a Hugging Face folder in bf16: what transformers makes of it, and its GGUF file.

    python folder_test.py INGLE MODEL [FOLDER]

MODEL is a GGUF file by its path, or by its name among the models that `make run` fetches. FOLDER has been made by transformers_folder.py already; else it is made, with the Python of INGLE_TRANSFORMERS_PYTHON where
that names one. Exit status 77, with a word: the model, torch or transformers is not here.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

CLOSE = 0.01  # ids may part where the reference's two best are nearer
MEAN, SAME, CLEAR = 0.05, 0.97, 0.1  # goldens/real: of the most likely id; where its margin is clear


def find(name):
    home = os.path.expanduser("~")
    folders = [os.environ.get("INGLE_MODELS", ""), home + "/.local/share/ingle/models", home + "/.cache/ingle-models"]
    return next((p for p in [name] + [os.path.join(f, name) for f in folders] if os.path.exists(p)), None)


def tensors(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            kind = {"I32": "i", "F32": "f"}[t["dtype"]]
            out[name] = struct.unpack(f"<{(b - a) // 4}{kind}", data[8 + n + a:8 + n + b])
    return out


def logprobs(ingle, model, ids, greedy):
    command = [ingle, "logprobs", model, "--ids", ",".join(map(str, ids)), "--greedy", str(greedy), "--top", "2",
               "--kernel", "ref", "--json", "--quiet"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(ingle, gguf, folder):
    expected = tensors(os.path.join(folder, "expected.safetensors"))
    ids, greedy, margin = expected["ids"], expected["greedy"], expected["margin"]
    got = logprobs(ingle, folder, ids, len(greedy))["greedy"]
    for i, (a, b) in enumerate(zip(got, greedy)):
        if a != b:
            print(f"id {i} of {len(greedy)} is {a}, transformers has {b} by {margin[i]:.4f}")
            if margin[i] >= CLOSE:
                return 1
            break  # what follows two texts that part is not the same
    else:
        print(f"all {len(greedy)} ids are transformers'")
    fed = list(ids) + list(greedy)
    one, other = (logprobs(ingle, m, fed, 0)["top"] for m in (folder, gguf))
    off = sum(abs(a[0][1] - b[0][1]) for a, b in zip(one, other) if a[0][0] == b[0][0]) / len(one)
    clear = [(a, b) for a, b in zip(one, other) if b[0][1] - b[1][1] > CLEAR]
    same = sum(a[0][0] == b[0][0] for a, b in clear)
    print(f"against the GGUF file: {off:.4f} apart, {same} of {len(clear)} clear ids the same")
    return 0 if off <= MEAN and same >= SAME * len(clear) else 1


def main():
    ingle, gguf = sys.argv[1], find(sys.argv[2])
    if not gguf:
        print(f"skipped: the model {sys.argv[2]} is not here (INGLE_MODELS names the folder)")
        return 77
    if len(sys.argv) > 3:
        return compare(ingle, gguf, sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transformers_folder.py")
        python = os.environ.get("INGLE_TRANSFORMERS_PYTHON", sys.executable)
        made = subprocess.run([python, maker, gguf, folder]).returncode
        return made if made else compare(ingle, gguf, folder)


if __name__ == "__main__":
    sys.exit(main())
