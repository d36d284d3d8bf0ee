"""What a session did to files: its changes, the contents that result, and the origin of every line.

    calls ──> changes ──┐
    reads, backups ──> sightings ──> histories ──> blame, net changes

Everything here is pure: sessions in, values out.
"""
