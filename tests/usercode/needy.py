"""Imports what is not there."""

import module_that_is_not_there  # noqa: F401
