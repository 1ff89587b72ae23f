"""The store on SQLite: the connection, named queries, upgrades and salvage."""
