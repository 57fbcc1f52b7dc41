"""AgeMem's six tools, by their exact names and arguments."""

from __future__ import annotations

from collections.abc import Sequence

from camg.types import Parameter, Tool

ADD, UPDATE, DELETE = "Add_memory", "Update_memory", "Delete_memory"
RETRIEVE, SUMMARY, FILTER = "Retrieve_memory", "Summary_context", "Filter_context"
NAMES = (ADD, UPDATE, DELETE, RETRIEVE, SUMMARY, FILTER)

_ID = Parameter("memory_id", "the id of the entry")
_METADATA = Parameter("metadata", "keys and values to find it by", kind="object", required=False)


def tools(*, aliases: bool) -> Sequence[Tool]:
    """The declarations. ``aliases``: Delete_memory also takes ``confirmed``, and :mod:`~camg_agemem.memory` asks that
    one of the two be there.
    """
    confirmation = Parameter("confirmation", "true: yes, delete it", kind="boolean", required=not aliases)
    also = (Parameter("confirmed", "the same", kind="boolean", required=False),) if aliases else ()
    return (
        Tool(
            ADD,
            "keep an entry in the long-term store",
            (
                Parameter("content", "what to keep"),
                _METADATA,
                Parameter("memory_type", "what sort of entry it is", required=False),
            ),
        ),
        Tool(UPDATE, "replace the content of an entry", (_ID, Parameter("content", "the new content"), _METADATA)),
        Tool(DELETE, "remove an entry", (_ID, confirmation, *also)),
        Tool(
            RETRIEVE,
            "show the entries nearest to a query",
            (
                Parameter("query", "what to look for"),
                Parameter("top_k", "how many", kind="integer", required=False),
                Parameter("metadata_filter", "keys and values that must be equal", kind="object", required=False),
            ),
        ),
        Tool(
            SUMMARY,
            "replace earlier rounds of the context by a summary, which you are then asked for",
            (Parameter("span", 'a number of last rounds, or "all"'),),
        ),
        Tool(
            FILTER,
            "remove the messages of the context that are about something",
            (Parameter("criteria", "what they are about"),),
        ),
    )
