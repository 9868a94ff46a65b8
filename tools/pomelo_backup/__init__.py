"""Backups of all nodes of a cluster as of one restore point: tools/backup.

A backup is a folder: for each node a base backup, all write-ahead log from its start to the restore point, and
`backup.json`, which is written last, so a folder without it is not complete. It needs no archive. Nodes are copied at the
same time, but not as of the same time: the restore point, which is the same on all nodes, makes them consistent.

Standard library only, and the client programs of the server (psql, pg_basebackup, pg_receivewal).
"""
