package dev.mainstem.delta;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Compares the types of rows with those of a table. */
final class Types {
    private Types() {}

    /** The first column, or part of it, with another type in the table, and both types; null if there is none. */
    static String difference(String path, DataType rows, DataType table) {
        if (rows instanceof StructType && table instanceof StructType) {
            return differenceOfFields(path, (StructType) rows, (StructType) table);
        }
        if (rows instanceof ArrayType && table instanceof ArrayType) {
            return difference(path + ".element", ((ArrayType) rows).elementType(), ((ArrayType) table).elementType());
        }
        if (rows instanceof MapType && table instanceof MapType) {
            String keys = difference(path + ".key", ((MapType) rows).keyType(), ((MapType) table).keyType());
            return keys != null
                    ? keys
                    : difference(path + ".value", ((MapType) rows).valueType(), ((MapType) table).valueType());
        }
        if (rows.equals(table) || table instanceof NullType) {
            return null;
        }
        return String.format("'%s' is %s in the table, and %s in the query", path, table.sql(), rows.sql());
    }

    private static String differenceOfFields(String path, StructType rows, StructType table) {
        for (StructField row : rows.fields()) {
            for (StructField column : table.fields()) {
                if (row.name().equalsIgnoreCase(column.name())) {
                    String name = path.isEmpty() ? row.name() : path + "." + row.name();
                    String change = difference(name, row.dataType(), column.dataType());
                    if (change != null) {
                        return change;
                    }
                }
            }
        }
        return null;
    }
}
