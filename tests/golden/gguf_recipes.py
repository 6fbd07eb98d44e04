#!/usr/bin/env python3
"""Tells how a GGUF file is made from a Hugging Face folder: a recipe for each family.

    python gguf_recipes.py LLAMA_CPP FOLDERS OUT

FOLDERS holds, for each family, its folder (config.json, model.safetensors) with the model-f32.gguf that llama.cpp's
converter made of it; LLAMA_CPP is its source, for its reader of GGUF files. A recipe in OUT has the metadata of that
file, and for each tensor where its rows lie in the folder's tensors, so that tests can write the same file from the
weights alone. Nothing of this is needed to run a test.

    meta KEY TYPE VALUE…
    tensor NAME SHAPE[ turned] MAP = SOURCE[^] FIRST STEP COUNT; …
    values NAME V V V …

A source's rows FIRST, FIRST + STEP, …; with ^ of the turned one, with | value by value; SOURCE stands only where it is
another than before; "zeros" is a source of rows STEP wide. MAP is what is done to each value: as, plus (1 + x) or rate (-e^x). "turned": the rows make up the turned tensor.
"""
import json
import os
import re
import sys

import numpy as np

# What the converter leaves out because every released model has the same value, and the tiny one has not.
EXTRA = {
    "mistral_sw": {"attention.sliding_window": ("u32", "sliding_window")},
    "qwen2_sw": {"attention.sliding_window": ("u32", "sliding_window")},
    "starcoder2": {"attention.sliding_window": ("u32", "sliding_window")},
    "llama4_text": {"attention.chunk_size": ("u32", "attention_chunk_size"), "attention.temperature_scale": ("f32", "attn_scale"),
                    "attention.temperature_length": ("u32", "floor_scale")},
    "olmoe": {"attention.clamp_kqv": ("f32", "clip_qkv")},
    "glm": {"attention.layer_norm_rms_epsilon": ("f32", "rms_norm_eps"),
            "attention.key_length": ("u32", "head_dim"),
            "attention.value_length": ("u32", "head_dim")},
    "phi": {"feed_forward_length": ("u32", "intermediate_size")},
    "lfm2_moe": {"expert_weights_scale": ("f32", "routed_scaling_factor")},
    "gpt_oss": {"swiglu_clamp_exp": ("f32", "swiglu_limit")},
    "minicpm3": {"embedding_scale": ("f32", "scale_emb")},
    "solar_open": {"rope.dimension_count": ("u32", "head_dim")},
}


def load(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    out = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        a, b = t["data_offsets"]
        raw = data[8 + n + a:8 + n + b]
        if t["dtype"] == "F32":
            v = np.frombuffer(raw, np.float32)
        elif t["dtype"] == "F16":
            v = np.frombuffer(raw, np.float16).astype(np.float32)
        elif t["dtype"] == "BF16":
            v = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            continue
        out[name] = v.reshape(t["shape"])
    return out


def weights(folder):
    out = {}
    for f in sorted(os.listdir(folder)):
        if f.startswith("model") and f.endswith(".safetensors"):
            out.update(load(os.path.join(folder, f)))
    return out


MAPS = {"as": lambda x: x, "plus": lambda x: x + np.float32(1), "rate": lambda x: -np.exp(x)}


def flat(v):
    return v.reshape(-1, v.shape[-1]) if v.ndim else v.reshape(1, 1)


def turn(v):
    return np.ascontiguousarray(np.swapaxes(v, -1, -2))


class Index:
    """Rows by their bytes, of the tensors as they are, turned, or value by value."""

    def __init__(self, source, m, form):
        self.rows = {}
        self.rate = m == "rate"
        for name, v in source.items():
            if form == "|" and v.size > 8192 or form == "^" and v.ndim < 2:
                continue
            with np.errstate(all="ignore"):
                v = MAPS[m](v).astype(np.float32)
            rows = flat(v) if not form else flat(turn(v)) if form == "^" else v.reshape(-1, 1)
            for i, row in enumerate(rows):
                self.rows.setdefault(self.key(row), []).append((name + form, i))

    def key(self, row):
        if not self.rate:
            return (row.astype(np.float32) + np.float32(0)).tobytes()
        with np.errstate(all="ignore"):  # an exponential rounds differently here and there
            return (np.round(np.log(-row.astype(np.float64)), 4) + 0.0).tobytes()

    def find(self, rows):
        """Runs (form, first, step, count) of all rows, or nothing."""
        runs = []
        for row in rows:
            if not row.any() and not self.rate:
                if runs and runs[-1][0] == "zeros":
                    runs[-1] = ("zeros", 0, len(row), runs[-1][3] + 1)
                else:
                    runs.append(("zeros", 0, len(row), 1))
                continue
            places = self.rows.get(self.key(row))
            if not places:
                return None
            if runs:
                form, first, step, count = runs[-1]
                if form == "zeros":
                    count = 0
                after = [i for f, i in places if f == form]
                if count == 1 and after and after[0] > first:
                    runs[-1] = (form, first, after[0] - first, 2)
                    continue
                if count > 1 and first + step * count in after:
                    runs[-1] = (form, first, step, count + 1)
                    continue
            form, i = places[0]
            runs.append((form, i, 1, 1))
        return runs


def number(v):
    return format(float(v), ".9g")


def recipe(family, folder, out, reader):
    from gguf import GGUFValueType as T
    source = weights(folder)
    config = json.load(open(os.path.join(folder, "config.json")))
    indices = {}
    lines, arch = [], None
    kinds = {T.UINT32: "u32", T.INT32: "u32", T.UINT64: "u32", T.FLOAT32: "f32", T.BOOL: "bool", T.STRING: "str"}
    extra = {}
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key.startswith("tokenizer.") or key.startswith("general.") and key != "general.architecture":
            continue
        value = field.contents()
        if key == "general.architecture":
            arch = value
        kind = kinds[field.types[-1]]
        listed = isinstance(value, list)
        values = value if listed else [value]
        extra[key] = (kind, listed, values)
    for key, (kind, name) in EXTRA.get(family, {}).items():
        extra[arch + "." + key] = (kind, False, [config[name]])
    if family == "nemotron":
        part = (config.get("rope_parameters") or config).get("partial_rotary_factor", config.get("partial_rotary_factor", 0.5))
        extra["nemotron.rope.dimension_count"] = ("u32", False, [int(config["head_dim"] * part)])
    if family in ("cohere2", "glm", "minimax_m2"):
        part = (config.get("rope_parameters") or config).get("partial_rotary_factor", config.get("partial_rotary_factor", 1))
        extra[arch + ".rope.dimension_count"] = ("u32", False, [int(config["head_dim"] * part)])
    if family in ("afmoe", "cohere2", "gemma3_bf16", "qwen2_sw"):
        extra[arch + ".attention.sliding_window_pattern"] = ("bool", True, [t == "sliding_attention" for t in config["layer_types"]])
    if family == "granite4_dense":
        extra[arch + ".rope.scaling.finetuned"] = ("bool", False, [config["position_embedding_type"] == "rope"])
    if family == "gemma3_bf16":
        extra[arch + ".attention.scale"] = ("f32", False, [config["query_pre_attn_scalar"] ** -0.5])
    if family == "minicpm3":
        extra[arch + ".logit_scale"] = ("f32", False, [config["hidden_size"] / config["dim_model_base"]])
    for key, (kind, listed, values) in extra.items():
        text = [number(v) if kind == "f32" else str(int(v)) if kind in ("u32", "bool") else v for v in values]
        lines.append(f"meta {key} {kind}{'[]' if listed else ''} {' '.join(text)}")
    for t in reader.tensors:
        shape = list(reversed([int(x) for x in t.shape]))
        v = np.array(t.data, dtype=np.float32).reshape(shape)
        found = None
        for name, x in source.items():  # whole, since exponentials round differently here and there
            if x.size == v.size and np.allclose(-np.exp(np.minimum(x, 80)).reshape(-1), v.reshape(-1), rtol=1e-6):
                found = ("rate", [(name + "|", 0, 1, v.size)], False)
        for m, form, turned in [("as", "", False), ("plus", "", False), ("as", "^", False), ("as", "^", True),
                                ("as", "|", False), ("rate", "|", False)]:
            if found or turned and v.ndim < 2:
                continue
            if (m, form) not in indices:
                indices[m, form] = Index(source, m, form)
            rows = v.reshape(-1, 1) if form == "|" else flat(turn(v)) if turned else flat(v)
            runs = indices[m, form].find(rows)
            if runs:
                found = (m, runs, turned)
                break
        size = "x".join(str(s) for s in shape)
        if not found:
            if v.size > 512:
                raise ValueError(f"{t.name} is nowhere in the folder")
            lines.append(f"values {t.name} {size} " + " ".join(number(x) for x in v.reshape(-1)))
            continue
        m, runs, turned = found
        if family == "gemma3n_text":  # tokens past the table read its first row; the converter gives them zeros
            runs = [("model.embed_tokens_per_layer.weight", 0, 0, r[3]) if r[0] == "zeros" else r for r in runs]
        parts, before = [], None
        for form, first, step, count in runs:
            parts.append(f"{'' if form == before else form + ' '}{first} {step} {count}")
            before = form
        lines.append(f"tensor {t.name} {size}{' turned' if turned else ''} {m} = " + "; ".join(parts))
    open(os.path.join(out, family + ".txt"), "w").write("\n".join(lines) + "\n")


def main():
    llama_cpp, folders, out = sys.argv[1:4]
    sys.path.insert(0, os.path.join(llama_cpp, "gguf-py"))
    from gguf import GGUFReader
    for family in sys.argv[4:] or sorted(os.listdir(folders)):
        path = os.path.join(folders, family, "model-f32.gguf")
        if not os.path.exists(path):
            continue
        try:
            recipe(family, os.path.join(folders, family), out, GGUFReader(path))
        except (ValueError, KeyError) as e:
            print(family, e)


if __name__ == "__main__":
    main()
