"""A team's store in PostgreSQL: what leaves this machine for it, who sees what there, and questions asked of it.

Prints nothing, and decides nothing about money or owners: `billing` does, here as everywhere. psycopg (`reread[team]`)
is loaded when a store is named, never before.
"""
