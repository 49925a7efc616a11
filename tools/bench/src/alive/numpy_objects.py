"""Measures a NumPy expression as measure-objects.ts measures objects, and prints one sample as JSON.

The expression is compiled into the loops, as if a user had written it there.
"""
import gc
import json
import statistics
import sys
import time

import numpy as np  # noqa: F401 (the expression uses it)

BATCH = 10e6
BATCHES = 9
BUDGET = 1000e6
WARMUP = 120e6
MANY_ALIVE = 10_000

task = json.loads(sys.argv[1])
scope = {"np": np}
exec(task["setup"], scope)
exec(
    f"""
def fill(kept):
    for i in range(len(kept)):
        kept[i] = {task["make"]}

def lives(count):
    for i in range(count):
        last = {task["make"]}
""",
    scope,
)
fill, lives = scope["fill"], scope["lives"]


def empty(kept):
    for i in range(len(kept)):
        kept[i] = None


def timed(run, argument):
    start = time.perf_counter_ns()
    run(argument)
    return time.perf_counter_ns() - start


def resident():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


def settle():
    gc.collect()
    time.sleep(0.02)


def one_by_one():
    count = 1
    while True:
        elapsed = timed(lives, count)
        if elapsed >= BATCH / 2:
            return elapsed / count, elapsed / count
        count = int(count * min(8, BATCH / max(elapsed, 1))) + 1


def cycle(kept):
    make = timed(fill, kept) / len(kept)
    return make, make + timed(empty, kept) / len(kept)


def cycles(kept):
    samples = []
    start = time.perf_counter_ns()
    while not samples or len(samples) < BATCHES and time.perf_counter_ns() - start < BUDGET:
        samples.append(cycle(kept))
    return samples


def batch(kept):
    if len(kept) == 1:
        return one_by_one()
    samples = []
    while sum(life for _, life in samples) * len(kept) < BATCH:
        samples.append(cycle(kept))
    return tuple(statistics.fmean(sample[part] for sample in samples) for part in (0, 1))


def measure(alive):
    warm = [None] * min(alive, 100)
    start = time.perf_counter_ns()
    while time.perf_counter_ns() - start < WARMUP:
        cycle(warm)
    kept = [None] * alive
    if alive < MANY_ALIVE:
        return result(alive, [batch(kept) for _ in range(BATCHES)])
    settle()
    start = resident()
    make = timed(fill, kept) / alive
    settle()
    filled = resident()
    samples = [(make, make + timed(empty, kept) / alive)]
    settle()
    ended = resident()
    samples += cycles(kept)
    settle()
    again = resident()
    more = cycles(kept)
    settle()
    leak = (resident() - again) / (len(more) * alive)
    samples += more
    memory = {"start": start, "filled": filled, "ended": ended, "leak": leak, "heap": 0, "external": 0}
    return {**result(alive, samples), "memory": memory}


def result(alive, samples):
    make, life = (statistics.median(sample[part] for sample in samples) for part in (0, 1))
    return {"alive": alive, "make": make, "life": life}


print(json.dumps(measure(task["alive"])))
