"""The dialect: `from ir import script as T` gives decorators, annotation types and expression builders."""

from ir.script.dialect import *  # noqa: F403 - this module is the namespace `T`
