"""Sources into the archive: incremental, parallel, resumable."""
