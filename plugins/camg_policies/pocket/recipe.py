"""The numbers of the warm start. Changing one makes another artefact."""

from __future__ import annotations

from attrs import frozen


@frozen
class Recipe:
    """Sizes of the model, amounts of data, and how each stage is trained and gated (in steps, never in seconds)."""

    seed: int = 0
    # the model: Qwen3 architecture
    vocabulary: int = 546
    width: int = 64
    layers: int = 3
    heads: int = 4
    kv_heads: int = 2
    feed_forward: int = 192
    positions: int = 4096
    # demonstrations, episodes of each environment
    text_episodes: int = 300
    demonstrations: int = 1500
    perfect: int = 600
    held_out: int = 64
    # training
    batch: int = 8  # segments
    lr: float = 4e-3
    weight_decay: float = 0.0
    grad_norm: float = 1.0
    context_weight: float = 0.1  # of context tokens in the loss
    warmup_steps: int = 50
    check_every: int = 50
    copy_loss: float = 1.0  # gate 1: mean loss of copied tokens below this
    copy_steps: int = 3000
    skill: float = 0.85  # gate 2: mean probability of the hardest perfect action above this
    skill_steps: int = 4000
    demonstration_steps: int = 1500
    demonstration_batch: int = 8  # imperfect segments in a step of the last stage
    perfect_batch: int = 4  # segments of perfect task actions beside them
    demonstration_lr: float = 0.5  # of the learning rate, at the start of the last stage
    # gate 3: success of the policy itself, at temperature 1
    trial_episodes: int = 512
    complete_from: float = 0.03
    complete_to: float = 0.18
