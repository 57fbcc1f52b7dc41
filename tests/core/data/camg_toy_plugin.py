"""A plugin for the tests of the command line: one of everything, and some that misbehave."""

import time

import click
from attrs import frozen

from camg import hookimpl
from camg.errors import DataError
from camg.specs import EnvironmentSpec, PolicySpec, SandboxSpec, option
from camg.types import EndReason, HealthCheck, Observation, Outcome, Parameter, StepResult, Task, Tool, Workspace


@hookimpl
def camg_environments():
    yield EnvironmentSpec(
        name="toy",
        summary="Say a number.",
        factory=Toy,
        config=ToyConfig,
        budget=3,
        suite=False,
        pocket_split="train",
        pocket_eval_split="eval",
        check_command="camg_toy_plugin:check",
        oracle=oracle,
    )


@hookimpl
def camg_policies():
    yield PolicySpec(name="toy-broken", summary="Cannot be imported.", factory="camg_no_such_module:X")


@hookimpl
def camg_sandboxes():
    yield SandboxSpec(name="toy-absent", summary="Never there.", factory=len, probe=lambda: "no kernel")


@hookimpl
def camg_health_checks():
    yield HealthCheck("toy health", ok=False, detail="the paint is off", remedy="repaint it")


@hookimpl
def camg_commands(cli):
    cli.add_command(click.Command("toy-hello", callback=lambda: click.echo("hello"), help="Say hello."))
    cli.add_command(click.Command("toy-crash", callback=lambda: 1 / 0))
    cli.add_command(click.Command("toy-interrupt", callback=interrupt))
    cli.add_command(click.Command("run", callback=interrupt))


def interrupt():
    raise KeyboardInterrupt


@click.command("check")
def check():
    click.echo("checked")


@frozen
class ToyConfig:
    size: int = option(4, "how large")
    fails: bool = option(False, "its tasks cannot be listed")
    pause: float = option(0.0, "seconds of a step")


class Toy:
    tools = (Tool("say", "Say a number.", (Parameter("number", "digits"),)),)

    def __init__(self, config):
        self.config = config

    def task_ids(self, split):
        if self.config.fails:
            raise DataError("The toys are lost.")
        if split not in ("train", "eval"):
            raise DataError("Expected train or eval.")
        return [f"toy.{number}" for number in range(self.config.size)]

    def task(self, task_id):
        number = task_id.rpartition(".")[2]
        if not number.isdigit():
            raise DataError(f"Expected a toy task, got {task_id!r}.")
        return Task(task_id, "toy", "eval", 3, {"number": int(number)})

    def workspace(self, task):
        return Workspace()

    def open(self, task, box, boxes):
        return ToySession(task, self.config.pause)


class ToySession:
    def __init__(self, task, pause):
        self.number, self.right, self.pause = task.payload["number"], False, pause

    def brief(self):
        return f"Say {self.number}."

    def step(self, action):
        time.sleep(self.pause)
        self.right = action.arguments["number"] == str(self.number)
        return StepResult(Observation("well"), reward=float(self.right), terminated=True)

    def after_action(self, action, result, checkpoint):
        return result

    def reminder(self, path, limit):
        return f"Save to {path}."

    def cross(self):
        return self.brief()

    def finish(self, reason: EndReason):
        return 0.0, Outcome(float(self.right), self.right)

    def close(self):
        pass


def oracle(task, seed, dialect):
    right = task.payload["number"] % 2 == 0
    return lambda context: dialect.render("say", {"number": str(task.payload["number"]) if right else "x"})
