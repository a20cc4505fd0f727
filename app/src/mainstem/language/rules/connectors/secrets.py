"""Rules against credentials in a document."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.connectors.options import maps
from mainstem.language.rules.connectors.paths import paths
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_SECRET_KEY: Final = re.compile(
    r"password|passwd|secret|access[._-]?key|session[._-]?token|ssl\.keystore\.key|credential(?!\.provider\.path)",
    re.IGNORECASE,
)
_JAAS: Final = re.compile(r"sasl\.jaas", re.IGNORECASE)
"""Properties that name a login module and its options. Modules for Kerberos or cloud roles have no credential there."""
_SECRET_OPTION: Final = re.compile(r"(password|secret|token|credential)\w*\s*=", re.IGNORECASE)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_URL_PASSWORD: Final = re.compile(r"[?&;](user|password)=", re.IGNORECASE)
_PASSWORD: Final = re.compile(r"[?&;]password=", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)


def secrets(context: Context) -> Iterator[Problem]:
    """A document contains no credential; it refers to a Secret."""
    conf: list[tuple[Path, Mapping[str, str]]] = [(("spark", "conf"), context.spec.spark.conf)]
    for path, given in conf + [(path, given) for path, given, _ in maps(context)]:
        for key, value in given.items():
            if _is_credential(key, value):
                message = f"{key} is a credential, which a document must not contain; use a secret or the environment"
                yield context.problem((*path, key), message, reasons.SECRET_IN_DOCUMENT, key=True)
    for path, text in _urls(context):
        if _USER_INFO.search(text) or _URL_PASSWORD.search(text):
            message = "the address contains credentials, which a document must not contain; use a secret or the environment"
            yield context.problem(path, message, reasons.SECRET_IN_DOCUMENT)


def _is_credential(key: str, value: str) -> bool:
    if _JAAS.search(key) and _SECRET_OPTION.search(value):
        return True
    if _USER_INFO.search(value) or _PASSWORD.search(value):
        return True
    return bool((_SECRET_KEY.search(key) and value) or _PRIVATE_KEY.search(value))


def _urls(context: Context) -> Iterator[tuple[Path, str]]:
    yield from paths(context.spec)
    for index, repository in enumerate(context.spec.packages.repositories):
        yield ("packages", "repositories", index), repository
    for index, connection in enumerate(context.spec.connections):
        if connection.s3 and connection.s3.endpoint:
            yield ("connections", index, "s3", "endpoint"), connection.s3.endpoint
        if connection.jdbc:
            yield ("connections", index, "jdbc", "url"), connection.jdbc.url
