"""The local web application: pages over the archive, for the person at this machine."""
