"""What the test runners share.

Each area of tests has a runner, test/<area>/run, which takes names of tests,
prints for each failure how to run that test alone, and closes with the line
'N passed, N failed'. `tools/check` calls the runners and adds up.
"""

import signal

# Settings of test servers: crashes are simulated by killing processes, which
# loses nothing that a server wrote, so that waiting for the disk can be spared.
FAST = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB",
        "citus.autoanalyze_naptime": "-1"}


def unwind_when_terminated():
    """Has SIGTERM and SIGHUP end the program as Ctrl-C does, so that its servers are removed.

    The first one counts: what comes later doesn't disturb the removal. What is
    ignored, as with nohup, stays so.
    """
    ways = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) != signal.SIG_IGN]

    def interrupt(_number, _frame):
        for number in ways:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in ways:
        signal.signal(number, interrupt)
