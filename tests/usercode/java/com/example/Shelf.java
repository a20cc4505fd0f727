package com.example;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/** A connector that writes batches and no streams: JSON lines in a folder, with the option `token` in each row. */
public final class Shelf implements CreatableRelationProvider, DataSourceRegister {
    @Override
    public String shortName() {
        return "shelf";
    }

    @Override
    public BaseRelation createRelation(SQLContext context, SaveMode mode, Map<String, String> options, Dataset<Row> rows) {
        rows.withColumn("token", functions.lit(options.apply("token"))).write().mode(mode).json(options.apply("folder"));
        return new BaseRelation() {
            @Override
            public SQLContext sqlContext() {
                return context;
            }

            @Override
            public StructType schema() {
                return rows.schema();
            }
        };
    }
}
