"""A database whose driver Mainstem does not bring: MariaDB, read as side inputs and written, by the sample of the page."""

import json
from pathlib import Path

import pytest
from harness.driver import DriverProcess
from harness.mariadb import MariaDb


pytestmark = [
    pytest.mark.S32,
    pytest.mark.S09,
    pytest.mark.full(
        gate="spark/test_packages.py::test_an_artifact_comes_with_its_dependencies_that_spark_lacks"
    ),
]
SAMPLE = Path(__file__).resolve().parents[2] / "k8s" / "samples" / "connectors" / "mariadb.yaml"


def order(folder: Path, number: int, *rows: tuple[int, int]) -> None:
    (folder / "orders").mkdir(exist_ok=True)
    text = "".join(json.dumps({"product": product, "pieces": pieces}) + "\n" for product, pieces in rows)
    (folder / "orders" / f"{number}.json").write_text(text)


def run(mariadb: MariaDb, folder: Path) -> DriverProcess:
    sets = {"server": f"127.0.0.1:{mariadb.port}", "folder": str(folder)}
    environment = {"MAINSTEM_SECRETS": str(folder / "secrets")}
    with DriverProcess(
        SAMPLE, folder / "run", sets=sets, env=environment, arguments=("--cores=2",)
    ) as driver:
        assert driver.wait(180) == 0, driver.stderr[-4000:]
    return driver


def test_the_sample_reads_and_writes_mariadb_with_its_driver(mariadb: MariaDb, tmp_path: Path) -> None:
    """The driver comes from Maven; a table by JDBC and one of a catalog are joined; rows are appended."""
    mariadb.secret(tmp_path / "secrets", "mariadb")
    mariadb.run("CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(20)) CHARACTER SET utf8mb4")
    mariadb.run("INSERT INTO products VALUES (1, 'fig'), (2, 'Öl')")
    mariadb.run("CREATE TABLE shelves (product INT, place VARCHAR(20))")
    mariadb.run("INSERT INTO shelves VALUES (1, 'left'), (2, 'right')")
    mariadb.run("CREATE TABLE sold (name VARCHAR(20), place VARCHAR(20), pieces INT) CHARACTER SET utf8mb4")
    order(tmp_path, 1, (1, 3), (2, 5), (7, 1))
    first = run(mariadb, tmp_path)
    assert mariadb.run("SELECT * FROM sold ORDER BY pieces") == [("fig", "left", "3"), ("Öl", "right", "5")]
    order(tmp_path, 2, *((1, pieces) for pieces in range(100, 1100)))
    second = run(mariadb, tmp_path)
    assert mariadb.run("SELECT count(*), count(DISTINCT pieces), sum(pieces) FROM sold") == [
        ("1002", "1002", str(8 + sum(range(100, 1100))))
    ]
    assert mariadb.password not in first.stderr + second.stderr
