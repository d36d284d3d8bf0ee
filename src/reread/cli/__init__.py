"""The command line: parse, ask, show. Errors become one sentence and an exit code.

It calls `archive` and never the index or the safe.
"""

import gc

# Records hold no cycles, and a command ends soon: with rarer collections a tree is read a fifth faster. Set before
# anything else is imported, because otherwise every start included one collection.
gc.set_threshold(100_000, 50, 100)
