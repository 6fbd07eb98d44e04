"""The keys of options, as types. Written by bindings/python/tools/make_option_types.py; do not edit."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from ._grammar import Grammar


class RuntimeOptions(TypedDict, total=False):
    # Threads to compute with. 0: one for each core that the process may use. From 0 to 256; 0 when not given.
    threads: int
    # Forces kernels by instruction set or full name (avx2, plain). Empty: the best there are.
    kernel: str
    # Where backend plug-ins lie. Empty: beside the library.
    plugin_folder: str
    # Where packed weights are kept for the next load of a model. Empty: nowhere.
    cache_folder: str
    # Bound on what is in it, in bytes: the least recently used goes. From 0 to 9223372036854775807; 8589934592
    # when not given.
    cache_bytes: int
    # Models whose packed weights take less are not kept in it. From 0 to 9223372036854775807; 67108864 when not
    # given.
    cache_least_bytes: int


class ModelOptions(TypedDict, total=False):
    # cpu, ref (slow, the oracle), null, or a plug-in: openblas, onednn, eigen, plugin:/path.
    backend: str
    # Of the attention state: f32, f16, bf16, q8 (a byte each), q4 (half a byte). Empty: the backend's choice.
    state_type: str
    # 1 maps the file; 0 reads it, which is safe against a later truncation.
    map: bool


class ScriptOptions(TypedDict, total=False):
    # What follows a prompt, in order; then <|end|>.
    ids: Sequence[int]
    # The same as ids, as a text.
    text: str
    # Instead of ids: rows of 258 logits; null is minus infinity.
    logits: Sequence[Sequence[float]]
    # Jinja. Empty: the model has none.
    chat_template: str
    # Tokens that a session may hold. From 1 to 16777216; 4096 when not given.
    context: int


class SessionOptions(TypedDict, total=False):
    # Tokens that the session may hold. 0: what the model was trained for. From 0 to 2147483648; 0 when not given.
    context: int
    # Tokens that a step takes of a long prompt. Changes speed, never results. From 1 to 8192; 512 when not given.
    prefill_chunk: int
    # Bound on the attention state, in bytes. 0: what the context needs. From 0 to 9223372036854775807; 0 when not
    # given.
    state_bytes: int


class SamplerOptions(TypedDict, total=False):
    # Divides the logits before the draw: lower is more certain. 0 always takes the likeliest. From 0.0 to 100.0;
    # 0.8 when not given.
    temperature: float
    # Keeps the k likeliest tokens. 0 is off. From 0 to 2147483647; 40 when not given.
    top_k: int
    # Keeps the likeliest tokens that together reach this probability. 1 is off. From 0.0 to 1.0; 0.95 when not
    # given.
    top_p: float
    # Keeps tokens of at least this share of the likeliest one's probability. 0 is off. From 0.0 to 1.0; 0.05 when
    # not given.
    min_p: float
    # What removes unlikely tokens leaves so many at least, or all where there are fewer. From 1 to 2147483647; 1
    # when not given.
    min_keep: int
    # Keeps tokens whose surprise is nearest to the entropy, up to this probability. 1 is off. From 0.0 to 1.0; 1.0
    # when not given.
    typical_p: float
    # Divides positive and multiplies negative logits of tokens in the window. 1 is off. From 0.01 to 100.0; 1.0
    # when not given.
    repeat_penalty: float
    # Is taken off a logit for each time the token stands in the window. 0 is off. From -100.0 to 100.0; 0.0 when
    # not given.
    frequency_penalty: float
    # Is taken off the logits of tokens that stand in the window. 0 is off. From -100.0 to 100.0; 0.0 when not
    # given.
    presence_penalty: float
    # How many of the last tokens the penalties see. From 0 to 1048576; 64 when not given.
    penalty_window: int
    # Equal seeds give equal text. From 0 to 9223372036854775807; 0 when not given.
    seed: int
    # No end before so many tokens. 0 is off. From 0 to 2147483647; 0 when not given.
    min_tokens: int
    # No sequence of so many tokens comes a second time. 0 is off. From 0 to 1024; 0 when not given.
    no_repeat_ngram: int
    # DRY: a token that lengthens a repetition loses multiplier * base^(length - allowed length). 0 is off. From
    # 0.0 to 100.0; 0.0 when not given.
    dry_multiplier: float
    # DRY: how fast the loss grows with the repetition. From 1.0 to 100.0; 1.75 when not given.
    dry_base: float
    # DRY: shorter repetitions cost nothing. From 0 to 1048576; 2 when not given.
    dry_allowed_length: int
    # DRY: how many of the last tokens count. -1: all. From -1 to 1048576; -1 when not given.
    dry_last_n: int
    # Keeps logits within so many standard deviations of the highest. 0 is off. From 0.0 to 1000.0; 0.0 when not
    # given.
    top_n_sigma: float
    # Tail free: cuts where the curve of probabilities gets flat. 1 is off. From 0.0 to 1.0; 1.0 when not given.
    tfs_z: float
    # Keeps tokens of at least this times the square of the highest probability. 0 is off. From 0.0 to 1.0; 0.0
    # when not given.
    top_a: float
    # XTC: how often all tokens of at least the threshold go but the least likely of them. 0 is off. From 0.0 to
    # 1.0; 0.0 when not given.
    xtc_probability: float
    # XTC: the probability of a top choice. From 0.0 to 1.0; 0.1 when not given.
    xtc_threshold: float
    # The temperature is so much lower where the model is sure, and higher where it is not. 0 is off. From 0.0 to
    # 100.0; 0.0 when not given.
    dynatemp_range: float
    # How the temperature follows the entropy. From 0.01 to 100.0; 1.0 when not given.
    dynatemp_exponent: float
    # Bends logits by their distance from the highest, squared. 0 is off. From 0.0 to 100.0; 0.0 when not given.
    smoothing_factor: float
    # Above 1 the bend has a cubic part; above 3 it may put others above the highest. From 1.0 to 10.0; 1.0 when
    # not given.
    smoothing_curve: float
    # Draws with a steady surprise, version 1 or 2, in place of the cuts. 0 is off. From 0 to 2; 0 when not given.
    mirostat: int
    # Mirostat: the surprise, in bits. From 0.0 to 100.0; 5.0 when not given.
    mirostat_tau: float
    # Mirostat: how fast it follows. From 0.0 to 1.0; 0.1 when not given.
    mirostat_eta: float
    # Draws near this probability, over time. 0 is off. From 0.0 to 1.0; 0.0 when not given.
    adaptive_target: float
    # How long the mean of the probabilities drawn looks back: about 1 / (1 - decay). From 0.0 to 0.99; 0.9 when
    # not given.
    adaptive_decay: float
    # Tokens that are never chosen.
    banned_tokens: Sequence[int]
    # The tokens that end an answer, for min_tokens.
    end_tokens: Sequence[int]
    # DRY: tokens that end a repetition.
    dry_breakers: Sequence[int]
    # The stages that take part, in their order. Empty: all that are on, in the default order.
    order: Sequence[str]
    # Is added to the logits of these ids; null bans the id.
    logit_bias: Mapping[int, float]


class GenerateOptions(TypedDict, total=False):
    # -1: until the model ends its answer or the context is full. From -1 to 9223372036854775807; -1 when not
    # given.
    max_tokens: int
    # Texts that end the answer, at most 16 of 1 to 256 bytes.
    stop: Sequence[str]
    # Regular expressions that end the answer where one of them has matched, at most 16 of 1 to 256 bytes.
    stop_patterns: Sequence[str]
    # Ids that end the answer, at most 256.
    stop_tokens: Sequence[int]
    # 1: the stop is the end of the answer's text, whole. 0: no part of it.
    include_stop: bool
    # Texts that never stand in the answer, at most 256 of 1 to 256 bytes: it goes back and chooses anew.
    banned_phrases: Sequence[str]
    # How many of the likeliest tokens each event tells. From 0 to 64; 0 when not given.
    top_logprobs: int
    # JSON Schema that the answer must fulfil, "format" included. Empty: none.
    json_schema: str
    # Regular expression that the whole answer must match. Empty: none.
    regex: str
    # Grammar in GBNF that the whole answer must match. Empty: none.
    gbnf: str
    # 1 takes what a grammar leaves no choice about without sampling, in the tokenizer's own tokens.
    jump_ahead: bool
    # 1 goes on past the ids that end an answer.
    ignore_end: bool
    # Tokens that the model may reason for; then its reasoning is ended. -1: as many as it likes. From -1 to
    # 9223372036854775807; -1 when not given.
    reasoning_budget: int
    # 1: the text holds the control tokens' too, as ingle_parser_feed needs them.
    control_text: bool
    # What the answer must be.
    grammar: Grammar


class GrammarOptions(TypedDict, total=False):
    # JSON Schema: "format" must hold.
    formats: bool
    # JSON Schema: no white space between tokens.
    compact: bool
    # Tools: auto, required, none, or the name of the one to call.
    tool_choice: str
    # Tools: an answer may hold several calls.
    parallel_calls: bool
    # Bound on the automata's states. From 0 to 9223372036854775807; 400000 when not given.
    states: int
    # Bound on the work of compiling; some millions a second. From 0 to 9223372036854775807; 100000000 when not
    # given.
    steps: int
    # Bound on the source. From 0 to 9223372036854775807; 8388608 when not given.
    bytes: int


class BeamOptions(TypedDict, total=False):
    # How many continuations are followed at once. From 1 to 64; 4 when not given.
    beams: int
    # Diverse beams: groups that avoid each other's tokens. From 1 to 64; 1 when not given.
    groups: int
    # Off a token's score for each beam of an earlier group that takes it now. From 0.0 to 100.0; 0.0 when not
    # given.
    diversity: float
    # The score is the log-probability / length^penalty. From -100.0 to 100.0; 1.0 when not given.
    length_penalty: float
    # 0: when no running beam is likely to be better; 1: with enough ended beams; 2: when none can be. From 0 to 2;
    # 0 when not given.
    early_stopping: int
    # Tokens of a continuation, at most. From 1 to 1048576; 128 when not given.
    max_tokens: int
    # How many continuations are given. From 1 to 64; 1 when not given.
    results: int
    # 1 goes on past the ids that end an answer.
    ignore_end: bool


class EngineOptions(TypedDict, total=False):
    # Requests that are computed at once. From 1 to 4096; 32 when not given.
    max_running: int
    # Requests that wait; one more is refused as busy. From 1 to 1048576; 1024 when not given.
    max_queued: int
    # Prompt tokens that wait. 0: no bound. From 0 to 1099511627776; 0 when not given.
    max_queued_tokens: int
    # A request that would wait longer, as estimated, is refused. 0: no bound. From 0.0 to 1000000000.0; 0.0 when
    # not given.
    max_wait_s: float
    # Tokens of one request. 0: what the model was trained for. From 0 to 2147483648; 0 when not given.
    context: int
    # Bound on the state of all requests, in bytes. 0: 80 % of the memory that is free. From 0 to
    # 9223372036854775807; 0 when not given.
    state_bytes: int
    # What a step may take while somebody waits for his next token. From 0.001 to 3600000.0; 100.0 when not given.
    target_ms: float
    # Prompt tokens of a step, at most. Changes speed, never results. From 1 to 8192; 512 when not given.
    prefill_chunk: int
    # Prompt tokens of a step, at least, where there are any. From 1 to 8192; 16 when not given.
    least_chunk: int
    # Prompts that share a step. From 1 to 64; 4 when not given.
    prefills: int
    # Of the prompt tokens, what each lower band gets at least. 0: bands are strict. From 0.0 to 0.3; 0.0 when not
    # given.
    band_share: float
    # 1 sets aside what a request may ever take, so that none is computed twice.
    no_evict: bool
    # 1 keeps what was computed of beginnings, as long as it fits, for requests that begin alike.
    share_prefixes: bool
    # A folder that exists: what goes for want of memory goes there, and is read again. Empty: none.
    prefix_folder: str
    # Bound on what is in it, in bytes. From 0 to 9223372036854775807; 1073741824 when not given.
    prefix_folder_bytes: int
    # 0: nothing happens but in ingle_engine_step.
    own_thread: bool
    # Not 0: free choices of the schedule are random, for tests. From 0 to 9223372036854775807; 0 when not given.
    schedule_seed: int


class SchedulingOptions(TypedDict, total=False):
    # 0 is served first. From 0 to 3; 1 when not given.
    band: int
    # Whose the request is: tenants of a band are served alike.
    tenant: str
    # Seconds after which it ends with the finish "deadline". 0: none. From 0.0 to 100000000.0; 0.0 when not given.
    deadline_s: float
    # Seconds for which what its prompt computed is kept, though others need the memory. From 0.0 to 100000000.0;
    # 0.0 when not given.
    keep_s: float
    # Only requests with the same salt share computed prefixes.
    salt: str


class AnswerOptions(SamplerOptions, GenerateOptions, total=False):
    """Of the sampler and of the answer."""


class RequestOptions(AnswerOptions, SchedulingOptions, total=False):
    """Of the sampler, the answer, and the schedule of an engine."""


class PlanOptions(ModelOptions, SessionOptions, total=False):
    """Of the model and of the session."""


class LoadOptions(RuntimeOptions, ModelOptions, total=False):
    """Of the runtime and of the model."""


_ = Any
