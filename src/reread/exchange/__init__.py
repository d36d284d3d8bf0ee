"""Several machines of one person share a folder: each puts its own pieces there and imports those of the others.

    FOLDER/MACHINE/000001.pack     pieces, as they are in the safe of that machine
    FOLDER/MACHINE/journal.json    the machine's label, its packs, its marks, and what was forgotten

A machine writes only in its own part of the folder. A file gets its final name once it is complete; a push that was
interrupted, or a folder that is still being synced, therefore shows less but never anything wrong. Pieces are compared
by content, so a push or pull can always be repeated.

Whoever can write into the folder can write anything there. So every header passes one gate (`index.gate`), a journal is
signed and compared with what is known of its machine (`keys`), and what others forgot is forgotten here only as far as
the person agrees (`forgotten`).
"""

from .folder import JOURNAL, Journal, check_folder
from .forgotten import Agree, ForgottenElsewhere, bring_back, throw_out
from .keys import own_code, thrown_out
from .pull_packs import Pulled, pull
from .push_packs import Pushed, push, pushed_files
from .targets import (
    known_stores,
    last_folder,
    last_key,
    last_store,
    names_for,
    own_store,
    remember_folder,
    remember_key,
    remember_own_store,
    remember_store,
)
