import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    file = ROOT / "bench" / "stats.py"
    spec = importlib.util.spec_from_file_location("bench_stats", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for the annotations' module
    spec.loader.exec_module(module)
    return module


def test_a_ratio_of_medians_comes_with_the_spread_of_the_pairs(stats):
    ratio = stats.Ratio.between([2.0, 4.0, 6.0, 8.0, 30.0], [2.0, 2.0, 2.0, 2.0, 2.0])

    assert ratio == stats.Ratio(of_medians=3.0, low=1.0, high=15.0, spread=1.0)


def test_one_pair_has_no_spread(stats):
    assert stats.Ratio.between([3.0], [2.0]) == stats.Ratio(1.5, 1.5, 1.5, 0.0)


def test_series_of_different_lengths_are_rejected(stats):
    with pytest.raises(ValueError, match="longer"):
        stats.Ratio.between([1.0], [1.0, 2.0])


def test_every_order_comes_once_before_any_comes_again(stats):
    orders = stats.orders("abc", 12, seed=3)

    assert len(set(orders[:6])) == 6
    assert set(orders[:6]) == set(orders[6:])


def test_orders_repeat_with_their_seed(stats):
    assert stats.orders("abc", 9, seed=5) == stats.orders("abc", 9, seed=5)
    assert stats.orders("abc", 6, seed=5) != stats.orders("abc", 6, seed=6)


def test_nine_rounds_put_each_variant_two_to_four_times_in_each_place(stats):
    orders = stats.orders("abc", 9, seed=1)

    for place in range(3):
        for variant in "abc":
            assert 2 <= sum(order[place] == variant for order in orders) <= 4


def test_a_span_is_the_median_with_the_extremes(stats):
    assert stats.span([1.0, 3.0, 2.5], 1) == "2.5 (1.0-3.0)"


def test_both_jobs_have_the_same_settings():
    script = (
        "import plainspark, throughput; from mainstem.runtime.spark.conf import JAVA_OPTIONS; "
        "print(throughput.differing_properties(), plainspark.JAVA_OPTIONS == JAVA_OPTIONS)"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("bench", "tests"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[] True", done.stderr
