"""What the test runners share.

Each area of tests has a runner, test/<area>/run, which takes names of tests,
prints for each failure how to run that test alone, and closes with the line
'N passed, N failed'. `tools/check` calls the runners and adds up.
"""

# Settings of test servers: crashes are simulated by killing processes, which
# loses nothing that a server wrote, so that waiting for the disk can be spared.
FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB"}
