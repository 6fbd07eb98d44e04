#!/usr/bin/env python3
"""Makes tests/data/golden/parts: what transformers says to a text without images or sound, of models with parts for them.

    python parts_golden.py ARCH OUT [NAME…]

ARCH holds the models' folders (config.json, model.safetensors; the shared goldens' arch/). For each, OUT/NAME.safetensors
has `input_ids` [24] and `logits` [24, vocabulary] in float32. The shared goldens have logits for prompts with an image only,
and those say little of the text's part alone. Nothing of this is needed to run a test.
"""
import json
import os
import sys

import torch
import transformers
from safetensors.torch import save_file

NAMES = ["gemma3_vl", "internvl", "lfm2_vl", "llava", "mistral3", "pixtral", "qwen2_5_vl", "qwen2_audio", "qwen2_vl", "qwen3_5_vl",
         "qwen3_vl", "smolvlm", "voxtral"]


def main():
    arch, out = sys.argv[1:3]
    torch.set_num_threads(1)
    os.makedirs(out, exist_ok=True)
    for name in sys.argv[3:] or NAMES:
        folder = os.path.join(arch, name)
        with open(os.path.join(folder, "config.json")) as f:
            config = json.load(f)
        made = getattr(transformers, config["architectures"][0])
        model = made.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        # Ids from 250 on stand for images and sound. A few come twice, so that attention has something to find.
        ids = torch.tensor([[1] + [20 + 37 * i % 211 for i in range(19)] + [57, 94, 20, 131]])
        extra = {"token_type_ids": torch.zeros_like(ids)} if name == "gemma3_vl" else {}
        with torch.inference_mode():
            logits = model(input_ids=ids, **extra).logits[0].float().contiguous()
        save_file({"input_ids": ids[0].to(torch.int32).contiguous(), "logits": logits}, os.path.join(out, name + ".safetensors"))
        print(name, tuple(logits.shape), flush=True)


if __name__ == "__main__":
    main()
