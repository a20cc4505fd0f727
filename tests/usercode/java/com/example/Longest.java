package com.example;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.expressions.MutableAggregationBuffer;
import org.apache.spark.sql.expressions.UserDefinedAggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The longest text of a group. */
@SuppressWarnings("deprecation")
public class Longest extends UserDefinedAggregateFunction {
  @Override
  public StructType inputSchema() {
    return new StructType().add("text", DataTypes.StringType);
  }

  @Override
  public StructType bufferSchema() {
    return new StructType().add("longest", DataTypes.StringType);
  }

  @Override
  public DataType dataType() {
    return DataTypes.StringType;
  }

  @Override
  public boolean deterministic() {
    return true;
  }

  @Override
  public void initialize(MutableAggregationBuffer buffer) {
    buffer.update(0, "");
  }

  @Override
  public void update(MutableAggregationBuffer buffer, Row row) {
    merge(buffer, row);
  }

  @Override
  public void merge(MutableAggregationBuffer buffer, Row row) {
    if (!row.isNullAt(0) && row.getString(0).length() > buffer.getString(0).length()) {
      buffer.update(0, row.getString(0));
    }
  }

  @Override
  public Object evaluate(Row buffer) {
    return buffer.getString(0);
  }
}
