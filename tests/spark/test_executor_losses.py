"""What a real Spark keeps of an executor that is gone."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


TESTS = {"PYTHONPATH": str(Path(__file__).parents[1])}
DIES = """
import json, os, signal, sys
from pyspark.sql import SparkSession
from harness.waiting import eventually
from mainstem.runtime.driver.executor_losses import lost_executors

conf = {"spark.ui.enabled": "false", "spark.task.maxFailures": "1", "spark.executor.memory": "500m"}
builder = SparkSession.builder.master("local-cluster[1,1,600]")
for key, value in conf.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
context = spark.sparkContext

def die(_):
    status = open(f"/proc/{os.getppid()}/status").read()
    os.kill(int(status.partition("PPid:")[2].split()[0]), signal.SIGKILL)

before = lost_executors(context._jsc.sc())
try:
    context.parallelize([1], 1).foreach(die)
except Exception:
    pass
lost = eventually("a lost executor", lambda: lost_executors(context._jsc.sc()))
print("\\n" + json.dumps([before, lost]))
spark.stop()
"""


@pytest.mark.full(
    gate="unit/test_executor_losses.py::test_the_newest_memory_loss_is_reported_for_ten_minutes"
)
def test_a_killed_executor_is_reported_with_time_and_reason() -> None:
    begun = datetime.datetime.now(datetime.UTC)
    done = subprocess.run(
        [sys.executable, "-c", DIES], env=os.environ | TESTS, capture_output=True, text=True, timeout=240, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    before, [[identity, at, words]] = json.loads(done.stdout.strip().splitlines()[-1])
    assert before == []
    assert identity == "0"
    second = datetime.timedelta(seconds=1)
    when = datetime.datetime.fromtimestamp(at, datetime.UTC)
    assert begun - second <= when <= datetime.datetime.now(datetime.UTC) + second
    assert "137" in words
