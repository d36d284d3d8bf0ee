"""What a session did to files: its changes, the contents they lead to, who wrote which line.

    calls ──> changes ──┐
    reads, backups ──> sightings ──> histories ──> blame, net changes

Everything here is pure: sessions in, values out.
"""
