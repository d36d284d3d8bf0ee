"""The command line: parse, ask, show. Errors become one sentence and an exit code.

It asks `archive` and never the index or the safe.
"""

import gc

# Records hold no cycles, and a command ends soon: rarer collections read a tree a fifth faster. Said before
# anything else is loaded: a collection fell into every start.
gc.set_threshold(100_000, 50, 100)
