"""An organisation's transcripts as Delta tables, on engines that exist: processes or Spark, Delta Lake, DuckDB.

`take_share` makes rows of sessions and knows no engine; `plan` says what is new, `build` has it made and commits it,
`query` asks. No responses are settled, priced or redacted by rules of its own, and nothing here prints. It needs
`reread[lake]`, and is imported by the command `lake` alone.
"""
