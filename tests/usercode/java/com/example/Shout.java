package com.example;

import org.apache.spark.sql.api.java.UDF1;

/** A text in capitals, with an exclamation mark. */
public class Shout implements UDF1<String, String> {
  @Override
  public String call(String text) {
    return text == null ? null : text.toUpperCase(java.util.Locale.ROOT) + "!";
  }
}
