"""Answers to a small training hold the lines of a real one, and say so."""

import json

from scripts.gate.train_judge import read_log
from scripts.local.recordings import SimulatedNode, text
from scripts.local.train_answers import train_log

ARGS = ["--make-data", "--every", "20", "--die-at", "30"]


def nodes(*faults: str) -> list[SimulatedNode]:
    return [SimulatedNode(name, "p5.48xlarge", frozenset(faults)) for name in ("a", "b")]


def test_loss_and_parameters_are_those_that_were_recorded() -> None:
    recorded = json.loads(text("small_train.txt", {})[0].removeprefix("small_train: report: "))
    told = read_log(train_log(nodes(), "whole", ARGS).splitlines()).report
    assert told is not None
    assert recorded["device"] == "cpu"
    assert {key for key in recorded if told[key] != recorded[key]} == {
        "message",
        "ranks",
        "device",
        "backend",
        "bit_exact",
    }
    assert told["ranks"] == 16


def test_an_attempt_that_goes_on_does_so_from_the_newest_checkpoint() -> None:
    told = read_log(train_log(nodes(), "resumed", ARGS).splitlines()).report
    assert told is not None
    assert told["resumed_from"] == 20


def test_all_ranks_of_the_first_node_say_that_they_are_killed() -> None:
    log = train_log(nodes(), "killed", ARGS)
    assert log.count("small_train: killed after step 30 as asked\n") == 8
    assert read_log(log.splitlines()).report is None


def test_a_dead_node_takes_the_report_with_it() -> None:
    log = read_log(train_log(nodes("dead"), "whole", ARGS).splitlines())
    assert (log.report, log.said) == (None, "")
