"""Moves the shards of a script's tables from node to node while its statements run."""

import random
import re
import threading

import psycopg

SHARDS = """SELECT p.shardid, n.nodename, n.nodeport, o.nodename, o.nodeport
    FROM pg_dist_placement p JOIN pg_dist_shard USING (shardid) JOIN pg_dist_partition USING (logicalrelid)
    JOIN pg_class c ON c.oid = logicalrelid JOIN pg_dist_node n USING (groupid)
    JOIN pg_dist_node o ON o.groupid <> n.groupid AND o.shouldhaveshards
    WHERE c.relnamespace = to_regnamespace(%s) AND repmodel <> 't' AND NOT relispartition"""
MOVE = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, shard_transfer_mode => %s)"
# What whoever changes all tables of a kind, one after the other, gets to see of one that is dropped meanwhile, on one server too.
GONE = re.compile("could not open relation with OID|tuple concurrently deleted")
EXPECTED = {
    "55P03": "lock timeout", "40P01": "deadlock", "57014": "the script has ended", "42704": "no such shard any more",
    "42P01": "no such table any more", "55000": "changed meanwhile", "55006": "in use"}


class Mover(threading.Thread):
    """Moves one shard after the other, until it is told to stop. It gives way: of a deadlock with a statement, it is the victim."""

    def __init__(self, coordinator, schema):
        super().__init__(daemon=True)
        self.coordinator, self.schema = coordinator, schema
        self.ended = threading.Event()
        self.connection = None
        self.moved = 0
        self.failure = None

    def run(self):
        try:
            with psycopg.connect(self.coordinator, autocommit=True) as self.connection:
                self.connection.execute("SET lock_timeout = '2s'; SET deadlock_timeout = '20ms'; SET client_min_messages = error")
                while not self.ended.is_set():
                    self.move()
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error

    def move(self):
        """One shard that there is now, to a node that hasn't it."""
        shards = self.connection.execute(SHARDS, [self.schema]).fetchall()
        if not shards:
            self.ended.wait(0.01)
            return
        try:
            mode = random.choice(["block_writes", "force_logical"])
            self.connection.execute(MOVE, [*random.choice(shards), mode])
            self.moved += 1
        except psycopg.Error as error:
            if error.sqlstate not in EXPECTED and not GONE.search(str(error)):
                raise

    def stop(self):
        """Ends the move that is going on; raises what was not expected of a move."""
        self.ended.set()
        while self.is_alive():
            if self.connection is not None:
                self.connection.cancel()
            self.join(0.1)
        if self.failure:
            raise RuntimeError(f"a move of shards failed: {self.failure}")
