#!/usr/bin/env python3
"""Writes tool_answers.jsonl: answers with tool calls as real templates write them, and what they hold.

  make_tool_answers.py INGLE TEMPLATES > tool_answers.jsonl

INGLE is the command line, TEMPLATES the folder of llama.cpp's template files. The expected values are those the
conversation was made of, not what any parser found.
"""
import json
import os
import subprocess
import sys

CALLS = [
    [("get_weather", {"place": "Zürich", "days": 3})],
    [("get_weather", {"place": "a \"b\" \\ c", "days": -1, "exact": True}),
     ("find_it", {"text": "two\nlines", "tags": ["x", "y z"]})],
]
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a place", "parameters": {
        "type": "object", "properties": {
            "place": {"type": "string", "description": "where"}, "days": {"type": "integer", "description": "n"},
            "exact": {"type": "boolean", "description": "exact"}}, "required": ["place"]}}},
    {"type": "function", "function": {"name": "find_it", "description": "Finds", "parameters": {
        "type": "object", "properties": {
            "text": {"type": "string", "description": "what"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "with"}}, "required": ["text"]}}},
]
# Template, dialect, marks of reasoning, arguments as text, content and reasoning that the template writes.
ROWS = [
    ("Qwen-Qwen3-0.6B", "hermes", "think", False, True, True),
    ("Qwen3.5-4B", "qwen3-coder", "think", False, True, True),
    ("ByteDance-Seed-OSS", "seed-oss", "seed-oss", False, True, True),
    ("GLM-4.6", "glm", "think", False, True, True),
    ("tencent-Hy3", "hunyuan", "hunyuan", False, True, True),
    ("MiniMax-M2", "minimax-m2", "think", False, True, True),
    ("MiniMax-M1", "minimax-m1", "", False, False, False),
    ("openbmb-MiniCPM5-1B", "minicpm5", "think", False, True, True),
    ("deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2", "think", False, True, False),
    ("deepseek-ai-DeepSeek-V4", "deepseek-v4", "think", False, True, False),
    ("Kimi-K3", "kimi-k3", "kimi-k3", False, True, True),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-v3", "think", False, False, False),
    ("deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1", "think", False, True, False),
    ("moonshotai-Kimi-K2", "kimi-k2", "", False, True, False),
    ("upstage-Solar-Open-100B", "solar-open", "solar-open", False, False, True),
    ("Mistral-Small-3.2-24B-Instruct-2506", "mistral", "", False, False, False),
    ("mistralai-Ministral-3-14B-Reasoning-2512", "mistral", "", False, True, False),
    ("mistralai-Mistral-Nemo-Instruct-2407", "mistral-nemo", "", False, False, False),
    ("meetkai-functionary-medium-v3.1", "functionary-v3.1", "", False, True, False),
    ("meetkai-functionary-medium-v3.2", "functionary-v3.2", "", True, True, False),
    ("NVIDIA-Nemotron-Nano-v2", "nemotron-nano-v2", "", False, False, False),
    ("Apertus-8B-Instruct", "apertus", "", False, True, False),
    ("Cohere2MoE", "command-r7b", "cohere", False, False, True),
    ("GigaChat3.1-10B-A1.8B", "gigachat-3.1", "", False, True, False),
    ("GigaChat3-10B-A1.8B", "gigachat-3", "", False, True, False),
    ("LFM2.5-8B-A1B", "lfm2", "think", False, True, False),
    ("google-gemma-4-31B-it", "gemma4", "gemma4", False, False, True),
    ("openai-gpt-oss-120b", "harmony", "harmony", False, False, True),
    ("meta-llama-Llama-3.3-70B-Instruct", "llama3", "", False, False, False),
    ("MiniMax-M3", "minimax-m3", "minimax-m3", False, True, True),
    ("unsloth-Apriel-1.5", "hunyuan-a13b", "", False, False, False),
]
# Of templates/ beside this file.
MADE = [
    ("llama4", "llama4", "", False, True, False),
    ("llama4-pythonic", "pythonic", "", False, False, False),
    ("llama4-quoted", "pythonic", "", False, False, False),
    ("olmo3", "olmo3", "", False, True, False),
    ("functionary-v2", "functionary-v2", "", True, True, False),
    ("functionary-v2-llama3", "functionary-v2-llama3", "", True, True, False),
    ("hunyuan-a13b", "hunyuan-a13b", "hunyuan-a13b", False, True, True),
    ("ernie-4.5-thinking", "hermes", "ernie", False, True, True),
]
OPENS = ["<｜hy_Assistant:opensource｜>", "<｜Assistant｜>", "\n<SPECIAL_11>Assistant\n"]
ENDS = ["<｜Assistant｜><｜end▁of▁sentence｜>", "<|im_end|>\n", "<seed:eos>", "<｜hy_eos:opensource｜>", "[e~[\n",
        "<end_of_sentence>\n", "<｜end▁of▁sentence｜>", "<|eom_id|>", "<|eot_id|>", "<SPECIAL_12>\n\n",
        "<|END_OF_TURN_TOKEN|>", "<|message_sep|>\n\n", "<|im_end|>", "<|im_end|>\n\n", "<|eot|>", "<|eos|>", "<|stop|>\n",
        "\n<|end|>\n"]
TEXT, REASON = "I look it up.", "First the weather,\nthen the rest."


def main():
    ingle, real = sys.argv[1:]
    made = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
    for folder, (name, dialect, marks, as_text, has_text, has_reason) in (
            [(real, row) for row in ROWS] + [(made, row) for row in MADE]):
        for calls in CALLS:
            text = TEXT if has_text else ""
            turn = {"role": "assistant", "content": text, "tool_calls": []}
            if has_reason:
                turn["reasoning_content" if dialect != "harmony" else "thinking"] = REASON
                turn["reasoning"] = REASON
            for i, (tool, arguments) in enumerate(calls):
                turn["tool_calls"].append({"id": "abcdef00%d" % i, "type": "function", "function": {
                    "name": tool, "arguments": json.dumps(arguments) if as_text else arguments}})
            user = {"role": "user", "content": "USERTURN"}
            base = {"tools": TOOLS, "bos_token": "", "eos_token": "", "enable_thinking": True, "thinking": True}
            lines = [dict(base, messages=[user], add_generation_prompt=True),
                     dict(base, messages=[user, turn], add_generation_prompt=False)]
            done = subprocess.run([ingle, "template", f"{folder}/{name}.jinja", "--jsonl"], capture_output=True,
                                  check=True, text=True, input="".join(json.dumps(x) + "\n" for x in lines))
            prompt, whole = (json.loads(x).get("output", "") for x in done.stdout.splitlines())
            if calls[-1][0] not in whole[whole.find("USERTURN"):]:
                continue  # a template that takes one call only
            tail = ""
            if whole.startswith(prompt):
                tail, answer = prompt[-60:], whole[len(prompt):]
            else:
                answer = whole[whole.rfind("USERTURN") + 8:]
            # What opens and ends a turn is no part of a model's answer.
            for mark in OPENS:
                if answer.startswith(mark):
                    answer = answer[len(mark):]
            for mark in ENDS:
                if answer.endswith(mark):
                    answer = answer[:-len(mark)]
            print(json.dumps({"template": name, "dialect": dialect, "marks": marks, "prompt": tail, "answer": answer,
                              "content": text, "reasoning": REASON if has_reason else "",
                              "calls": [{"name": t, "arguments": a} for t, a in calls]}, ensure_ascii=False))


main()
