"""A team's store in PostgreSQL: what leaves this machine for it, who sees what there, and questions asked of it.

Prints nothing, and leaves decisions about money and owners to `billing`, as every room does. psycopg (`reread[team]`)
is loaded only when a store is named.
"""
