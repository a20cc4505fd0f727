"""Java's classes by name, each looked up once.

py4j asks the JVM for each part of `jvm.org.apache.spark.sql.Row`, at each use. Java has to look into every jar of the class path to
know that `org.apache` is no class, and for a name that pyspark has imported with `*` it does so for each of these packages.
"""

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView


class JavaClasses(JVMView):  # type: ignore[misc]  # py4j has no types
    """py4j's view of a JVM, which keeps each class that was found, by its name."""

    def __init__(self, view: JVMView) -> None:
        super().__init__(view._gateway_client, view._jvm_name, id=view._id)  # noqa: SLF001

    def __getattr__(self, name: str) -> Any:
        return _looked_up(self, name, super().__getattr__(name))


class _Package(JavaPackage):  # type: ignore[misc]
    """A package of Java that keeps each class that was found in it, and is kept itself from then on.

    For py4j each name that is no class is a package: it may become a class, with a jar that is added later.
    """

    def __init__(self, package: JavaPackage, owner: "JavaClasses | _Package", name: str) -> None:
        super().__init__(package._fqn, package._gateway_client, package._jvm_id)  # noqa: SLF001
        self._owner, self._name = owner, name

    def __getattr__(self, name: str) -> Any:
        return _looked_up(self, name, super().__getattr__(name))


def _looked_up(owner: JavaClasses | _Package, name: str, meaning: Any) -> Any:
    if type(meaning) is JavaPackage:
        return _Package(meaning, owner, name)
    if isinstance(meaning, JavaClass):
        _keep(owner, name, meaning)
    return meaning


def _keep(owner: JavaClasses | _Package, name: str, meaning: Any) -> None:
    owner.__dict__[name] = meaning
    if isinstance(owner, _Package):
        _keep(owner._owner, owner._name, owner)  # noqa: SLF001
