#!/usr/bin/env python3
"""Answers under many schemas, judged by another judge: constrained_answers.py MODEL SCHEMAS [ROUNDS [MOST [TOKENS]]]

SCHEMAS is a folder of files that hold {"schema": …, "tests": […]} (MaskBench). ROUNDS answers at temperature 1 are
generated under each of the first MOST schemas that can be held, and each that ended by itself is judged by the Python
package jsonschema. Then the same prompts are answered without a schema, as long, and the speeds are compared, by
the processor's time on one thread. Needs the packages ingle and jsonschema.
"""
import json
import os
import sys
import time

import ingle
import jsonschema

model = ingle.Model(sys.argv[1], threads=1)  # so that the processor's time is that of the answer
folder = sys.argv[2]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
most = int(sys.argv[4]) if len(sys.argv) > 4 else 100
limit = int(sys.argv[5]) if len(sys.argv) > 5 else 200


def speed(session, prompt, sampler, **options):
    """The text, why it ended, its tokens, and the processor's seconds after the first of them."""
    session.clear()
    session.feed_chat(prompt)
    text, finish, times = "", None, []
    for event in session.stream(sampler, **options):
        text += event.text
        finish = event.finish or finish
        times.append(time.process_time())
    return text, finish, len(times), times[-1] - times[0] if times else 0.0


held, whole, wrong, cut = 0, 0, 0, 0
with_tokens = with_seconds = free_tokens = free_seconds = 0.0
session = model.session(context=2048)
for name in sorted(os.listdir(folder)):
    if held == most:
        break
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        schema = json.load(f)["schema"]
    try:
        grammar = ingle.Grammar.json_schema(schema, formats=False)
    except ingle.Error:
        continue
    held += 1
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    title = schema.get("title", "something") if isinstance(schema, dict) else "something"
    prompt = f"Write a short JSON example of {title}."
    for seed in range(rounds):
        sampler = ingle.Sampler(temperature=1.0, seed=1000 * held + seed + 1)
        text, finish, tokens, seconds = speed(session, prompt, sampler, grammar=grammar, max_tokens=limit)
        if seed > 0:  # the first round finds the places
            with_tokens += tokens - 1
            with_seconds += seconds
        if finish != "end":
            cut += 1
        else:
            whole += 1
            try:
                errors = list(validator.iter_errors(json.loads(text)))
            except Exception as e:  # no JSON, or a schema that the judge cannot read
                errors = [e]
            if errors:
                wrong += 1
                print(f"{name}: {errors[0]}: {text[:200]}")
        if seed > 0 and tokens > 1:
            free = speed(session, prompt, ingle.Sampler(temperature=1.0, seed=seed + 1), max_tokens=tokens,
                         ignore_end=True)
            free_tokens += free[2] - 1
            free_seconds += free[3]
print(f"{held} schemas, {whole + cut} answers: {whole} ended, {wrong} of these judged wrong; {cut} were cut")
print(f"tokens a second of the processor's time: {with_tokens / with_seconds:.1f} held, {free_tokens / free_seconds:.1f} free")
