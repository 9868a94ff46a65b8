"""Interleaved measurement: every side in every round, ratios within a round, medians over the rounds.

A ratio is taken between two measurements made seconds apart, so what slows the whole machine for a while slows
both sides of it.
"""

import statistics
from dataclasses import dataclass, field


@dataclass
class Sample:
    """One side in one round."""

    rate: float  # transactions or rows a second
    cpu: dict  # role of a server -> microseconds of CPU time for each of them
    failed: int = 0  # transactions that gave way to others, not counted otherwise

    @property
    def server_cpu(self):
        """The CPU time of all servers together."""
        return sum(self.cpu.values())


@dataclass
class Result:
    """One configuration: all samples of all sides."""

    case: str
    config: str
    baseline: str
    unit: str = "tps"
    samples: dict = field(default_factory=dict)  # side -> [Sample]

    def rates(self, side):
        return [sample.rate for sample in self.samples[side]]

    def cpu(self, side):
        """Role of a server -> the spread of its CPU time per transaction."""
        samples = self.samples[side]
        return {role: spread([sample.cpu[role] for sample in samples]) for role in samples[0].cpu}

    def failed(self, side):
        return sum(sample.failed for sample in self.samples[side])

    def ratios(self, side, measure="rate"):
        """Per round, this side's figure divided by the baseline's."""
        return [getattr(ours, measure) / getattr(theirs, measure)
                for ours, theirs in zip(self.samples[side], self.samples[self.baseline])
                if getattr(theirs, measure) > 0]

    def as_dict(self):
        sides = {}
        for side, samples in self.samples.items():
            sides[side] = {
                "rate": spread(self.rates(side)),
                "server_cpu_us": spread([sample.server_cpu for sample in samples]),
                "cpu_us": self.cpu(side),
                "failed": self.failed(side),
            }
            if side != self.baseline:
                sides[side]["ratio"] = spread(self.ratios(side))
                sides[side]["server_cpu_ratio"] = spread(self.ratios(side, "server_cpu"))
        return {"case": self.case, "config": self.config, "unit": self.unit, "baseline": self.baseline,
                "sides": sides}


@dataclass
class Figures:
    """Single figures of a case: no rates, no rounds."""

    case: str
    config: str
    unit: str = ""
    values: dict = field(default_factory=dict)  # what -> number

    def as_dict(self):
        return {"case": self.case, "config": self.config, "unit": self.unit, "values": self.values}


def spread(values):
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def interleave(result, sides, rounds, measure):
    """Call measure(side) for each side in each round; the order turns around every round."""
    for side in sides:
        result.samples[side.name] = []
    for number in range(rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            result.samples[side.name].append(measure(side))
    return result
