"""Schemas in DDL, usual ones and odd ones: what Spark's parser takes of them, Mainstem takes too."""

from typing import Final


_LINES: Final = r"""
id INT
id INT, Id INT
a INT NOT NULL, b STRING COMMENT 'x', c INT NOT NULL COMMENT "y"
a INT COMMENT x
a STRING COMMENT 'it''s'
a STRING COMMENT 'it\'s'
a INT COMMENT 'x' "y" r'it\', b INT
a /* x /* y */ z */ INT
a /* x /* y */ INT
a INT /*
a INT DEFAULT 5
a INT GENERATED ALWAYS AS (1)
a INT PRIMARY KEY
my col STRING
user-id INT
`user-id` INT
`` INT, a INT
`a.b` INT
`a``b` INT
a.b INT
a/b INT
a#b INT
$a INT
@a INT
a:b INT
"a" INT
'a' INT
[a] INT
1a INT
1 INT
1d INT
1E3 INT
1E5D INT
_a INT
é INT
`é` INT
日本 INT
select INT, from STRING, table INT, array INT, left INT, interval INTERVAL
map MAP<STRING,INT>, not INT, null INT, comment STRING COMMENT 'c'
a: INT
id: INT, b: STRING
a INT,
,a INT
a
a INT b INT
a NOT NULL INT
a INT;
a INT -- x
a INT /* c */, b INT
A Int, B string
a DECIMAL, b DECIMAL(10), c DEC(3,1), d NUMERIC, e DECIMAL(0,0)
a DECIMAL(38,38)
a DECIMAL(39)
a DECIMAL(40,2)
a DECIMAL(2,3)
a DECIMAL(-1)
a DECIMAL()
a DECIMAL(1,2,3)
a INT()
a FLOAT(3)
a STRING(3)
a BYTE, b SHORT, c LONG, d REAL, e INTEGER, f TINYINT, g SMALLINT, h BIGINT
a DATE, b BOOLEAN, c BINARY, d VOID, e VARIANT, f DOUBLE
a TIMESTAMP, b TIMESTAMP_NTZ, c TIMESTAMP_LTZ, d TIMESTAMP WITHOUT TIME ZONE
a TIMESTAMP WITH TIME ZONE
a TIMESTAMP WITH LOCAL TIME ZONE, b TIME WITHOUT TIME ZONE, c TIME(3) WITHOUT TIME ZONE
a TIMESTAMP_LTZ WITHOUT TIME ZONE
a TIMESTAMPTZ
a TIME, b TIME(6)
a INTERVAL DAY TO SECOND, b INTERVAL DAY, c INTERVAL YEAR TO MONTH, d INTERVAL SECOND
a INTERVAL MONTH TO YEAR
a INTERVAL DAY TO MONTH
a VARCHAR(3), b CHAR(3), c CHARACTER(2)
a VARCHAR
a STRING COLLATE UTF8_LCASE, b STRING COLLATE system.builtin.UTF8_LCASE, c CHAR(3) COLLATE UTF8_LCASE
a STRING COLLATE
a GEOMETRY(4326), b GEOGRAPHY(4326), c GEOMETRY(ANY), d GEOGRAPHY(ANY)
a DUBLE
a STRIN
a UUID
a JSON
a TEXT
a DATETIME
a DOUBLE PRECISION
a BLOB
a BIGINT UNSIGNED
a NULL
a ARRAY<INT>, b ARRAY<ARRAY<INT>>, c MAP<STRING, INT>
a ARRAY
a ARRAY<INT
a ARRAY<INT>>
a MAP<STRING>
a STRUCT<x: INT, y INT>, b STRUCT<>
a STRUCT
a STRUCT<x: INT, X: INT>
a STRUCT<b:INT,>
a STRUCT<:INT>
a struct<`x y`: int>
a STRUCT<b: STRUCT<c: ARRAY<INT>, d: MAP<STRING, DECIMAL(3,1)>>>
a STRUCT<b INT NOT NULL COMMENT 'x'>
struct<a:int>
struct<a:int, b: STRING NOT NULL COMMENT 'x'>
struct<a:int>, b INT
struct<>
struct INT
from: INT
a: INT NOT NULL, b STRING
int
array<int>
"""
TEXTS: Final = (
    *filter(None, _LINES.splitlines()),
    *(
        "a INT -- hi\\\n more\n, b INT",
        "a INT --x\r, b INT",
        "a INT --x\n, b INT",
        "a INT --x\r\n, b INT",
        "a\x1cINT",
        "a\u00a0INT\f,\v\u2003b\u3000INT",
        "a\x85INT",
    ),
)
