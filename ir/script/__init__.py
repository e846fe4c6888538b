"""The dialect: `from ir import script as T` gives decorators, annotation types and expression builders."""

from ir.script.dialect import *  # noqa: F403 - this module is the namespace `T`
from ir.script.dialect import bool_

bool = bool_  # `T.bool`, which dialect.py cannot bind because it needs Python's
