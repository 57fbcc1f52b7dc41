"""Does a policy keep its promises?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from camg.protocols import ChatCodec, Policy, Sampler
from camg.testing.expect import expect, expect_members
from camg.types import Message, Parameter, Response, Sampling, StopReason, Task, Tool

TOOLS = (
    Tool("look", "Look around."),
    Tool("say", "Say a word.", (Parameter("word", "the word"),)),
    Tool("shell_command", "Run a command.", (Parameter("command", "for bash"),), filesystem=True),
)
CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("look", {}),
    ("say", {"word": "red mug"}),
    ("shell_command", {"command": "cat <<'E' > f\na b\nE\nls | wc"}),
)
OPENING = (Message("system", "Rules."), Message("user", "Say a word."))


def check_policy(policy: Policy, *, trainable: bool = False, limit: int = 12) -> None:
    """Check codec, dialect, sampler and, if ``trainable``, the networks. Imports torch if ``trainable``.

    Raises ``AssertionError`` with a sentence.
    """
    expect_members(policy, Policy, "The policy")
    codec = policy.codec
    prompt = _check_codec(codec)
    greedy = [_sample(policy, prompt, Sampling(temperature=0.0), seed, limit) for seed in (1, 2)]
    expect(
        greedy[0].token_ids == greedy[1].token_ids,
        "Expected the same response at temperature 0 under any seed, got two.",
    )
    drawn = [_sample(policy, prompt, Sampling(), 7, limit) for _ in range(2)]
    expect(drawn[0].token_ids == drawn[1].token_ids, "Expected the same response under the same seed, got two.")
    if trainable:
        _check_networks(policy, prompt, drawn[0])


def _check_codec(codec: ChatCodec) -> tuple[int, ...]:
    """Texts survive; calls survive; contexts only grow. Returns a prompt."""
    expect_members(codec, ChatCodec, "The codec")
    for text in ("plain words", "a\nb", "café ✓"):
        expect(codec.decode(codec.encode(text)) == text, f"Expected decode(encode(text)) == text for {text!r}.")
    dialect = codec.dialect
    for tool, arguments in CALLS:
        action = dialect.parse(dialect.render(tool, arguments), TOOLS)
        expect(
            action.tool == tool and dict(action.arguments) == arguments,
            f"Expected parse(render(...)) to give {tool} with {arguments}, got {action}.",
        )
    nothing = dialect.parse("just words", TOOLS)
    expect(nothing.tool is None and nothing.fault is not None, "Expected a fault for a text without a call.")
    prompt = codec.open(OPENING, TOOLS)
    expect(len(prompt) > 0 and prompt == codec.open(OPENING, TOOLS), "Expected the same ids for the same messages.")
    answer = [Message("tool", "an observation")]
    expect("an observation" in codec.decode(codec.extend(answer, ended=True)), "Expected the observation's text.")
    whole, rest = codec.extend(answer, ended=False), codec.extend(answer, ended=True)
    expect(
        whole == rest or whole == (codec.eos_id, *rest),
        "Expected a sampled end token not to be doubled: extend(ended=False) may only add it in front.",
    )
    return prompt


def _sample(policy: Policy, prompt: Sequence[int], sampling: Sampling, seed: int, limit: int) -> Response:
    sampler: Sampler = policy.sampler(sampling)
    try:
        expect(isinstance(sampler.version, int), f"Expected a whole number as version, got {sampler.version!r}.")
        speaker = sampler.open(Task(id="t", env="check", split="train", budget=4), seed)
        try:
            response = speaker.generate(prompt, limit=limit)
        finally:
            speaker.close()
    finally:
        sampler.close()
    ids, count = response.token_ids, len(response.token_ids)
    expect(0 < count <= limit, f"Expected 1 to {limit} tokens, got {count}.")
    expect(len(response.logprobs) == count, f"Expected {count} log-probs, got {len(response.logprobs)}.")
    expect(all(value <= 1e-6 for value in response.logprobs), "Expected log-probs of at most 0.")
    eos = policy.codec.eos_id
    if response.stop_reason is StopReason.EOS:
        expect(ids[-1] == eos, "Expected the sampled end token as the last id of a response that ended by it.")
    expect(eos not in ids[:-1], "Expected a response to stop at the first end token.")
    return response


def _check_networks(policy: Policy, prompt: Sequence[int], response: Response) -> None:
    import torch

    actor, critic = policy.actor(), policy.critic()
    ids = torch.tensor([[*prompt, *response.token_ids]])
    mask, positions = torch.ones_like(ids, dtype=torch.bool), torch.arange(ids.shape[1])[None]
    with torch.no_grad():
        hidden = actor.hidden(ids, mask, positions)  # type: ignore[operator]
        weight: Any = actor.output_weight
        bias: Any = getattr(actor, "output_bias", None)
        logits = torch.nn.functional.linear(hidden.float(), weight.float(), bias)
        values = critic.values(ids, mask, positions)  # type: ignore[operator]
    scored = logits.log_softmax(-1)[0, len(prompt) - 1 : -1].gather(-1, ids[0, len(prompt) :, None])[:, 0]
    worst = float((scored - torch.tensor(response.logprobs)).abs().max())
    expect(worst < 1e-3, f"Expected the sampler's log-probs to be the actor's, got a difference of {worst:.2g}.")
    expect(tuple(values.shape) == tuple(ids.shape), f"Expected values of shape {tuple(ids.shape)}, got {values.shape}.")
    expect(float(values.abs().max()) == 0.0, "Expected the critic to begin with a head of zeros.")
    shared = {p.data_ptr() for p in actor.parameters()} & {p.data_ptr() for p in critic.parameters()}
    expect(not shared, "Expected actor and critic to share no parameters.")
