package com.example;

import org.apache.spark.sql.execution.streaming.sources.RateStreamProvider;

/** A streaming connector under a name of its own: Spark's rate source. */
public final class Ticks extends RateStreamProvider {
    @Override
    public String shortName() {
        return "ticks";
    }
}
