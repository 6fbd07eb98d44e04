#!/usr/bin/env python3
"""Makes a Hugging Face folder in bf16 of a GGUF model with transformers, and tells what transformers writes with it.

    python transformers_folder.py MODEL.gguf FOLDER [N]

FOLDER gets config.json, model.safetensors, the tokenizer, and expected.safetensors: "ids", the prompt; "greedy", the
N (64) ids after it; "margin", of each by how much its logit exceeds that of the second. Weights are rounded to bf16,
and then computed with in float32. Exit status 77: torch, transformers, gguf or accelerate cannot be imported.
"""
import os
import sys

PROMPT = "Once upon a time there was a small library that"


def main():
    try:
        import accelerate  # noqa: F401 (transformers wants it, and gguf, to read the file)
        import gguf  # noqa: F401
        import torch
        from safetensors.torch import save_file
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as e:
        print(f"skipped: {e}")
        return 77
    path, folder = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    where, file = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=file)
    decoded = AutoModelForCausalLM.from_pretrained(where, gguf_file=file, dtype=torch.float32)
    config = decoded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # what is made here is not quantised
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict({name: t.to(torch.bfloat16) for name, t in decoded.state_dict().items()})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    model = model.float().eval()
    ids = tokenizer(PROMPT, return_tensors="pt").input_ids
    greedy, margin, at = [], [], ids
    with torch.inference_mode():
        state = None
        for _ in range(n):
            out = model(at, past_key_values=state, use_cache=True)
            state = out.past_key_values
            best = out.logits[0, -1].topk(2)
            greedy.append(int(best.indices[0]))
            margin.append(float(best.values[0] - best.values[1]))
            at = torch.tensor([[greedy[-1]]])
    save_file({"ids": ids.to(torch.int32), "greedy": torch.tensor([greedy], dtype=torch.int32), "margin": torch.tensor([margin])},
              os.path.join(folder, "expected.safetensors"))
    print(tokenizer.decode(greedy))
    return 0


if __name__ == "__main__":
    sys.exit(main())
