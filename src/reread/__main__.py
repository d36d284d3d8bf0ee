"""`python -m reread`."""

from reread.cli.main import main

raise SystemExit(main())
