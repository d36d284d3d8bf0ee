"""`python -m reread`."""

from reread.surfaces.cli.main import main

raise SystemExit(main())
