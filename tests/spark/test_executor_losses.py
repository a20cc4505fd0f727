"""What a real Spark keeps of an executor that is gone."""

import json
import subprocess
import sys
import time

import pytest


DIES = """
import json, os, signal, sys
from pyspark.sql import SparkSession
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
for _ in range(300):
    lost = lost_executors(context._jsc.sc())
    if lost:
        break
    import time
    time.sleep(0.1)
print("\\n" + json.dumps([before, lost]))
spark.stop()
"""


@pytest.mark.full(
    gate="unit/test_executor_losses.py::test_the_newest_memory_loss_is_reported_for_ten_minutes"
)
def test_a_killed_executor_is_reported_with_time_and_reason() -> None:
    begun = time.time()
    done = subprocess.run(
        [sys.executable, "-c", DIES], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    before, [[identity, at, words]] = json.loads(done.stdout.strip().splitlines()[-1])
    assert before == []
    assert identity == "0"
    assert begun - 1 <= at <= time.time() + 1
    assert "137" in words
