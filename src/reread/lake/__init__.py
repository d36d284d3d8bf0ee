"""An organisation's transcripts as Delta tables, on existing engines: processes or Spark, Delta Lake, DuckDB.

`take_share` makes rows of sessions and does not depend on an engine; `plan` finds what is new, `build` has it made and
commits it, `query` answers questions. It has no rules of its own for settling, pricing or redacting, and prints
nothing. It needs `reread[lake]`, and only the command `lake` imports it.
"""
