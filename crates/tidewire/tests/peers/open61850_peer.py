"""MMS peer by open61850: `server PORT MODEL` prints a line once it listens and serves for a minute; `client PORT` browses,
reads a variable 100 times, and prints `read 100 VALUE`."""

import os
import sys
import time


def serve(port, model):
    words = ["-m", "open61850.server", model, "--host", "127.0.0.1", "--port", port, "--duration", "60"]
    # It announces itself on standard error.
    os.dup2(1, 2)
    os.execv(sys.executable, [sys.executable, *words])


def call(port):
    from open61850.mms import MmsClient

    with MmsClient.connect("127.0.0.1", port=int(port)) as client:
        device = client.get_name_list(9)[0]
        names = client.get_name_list(0, device)
        client.get_type(f"{device}/MMXU1")
        begin = time.perf_counter()
        for _ in range(100):
            value = client.read(f"{device}/MMXU1$MX$TotW$mag$f")
        mean = (time.perf_counter() - begin) / 100
        print(f"read 100 {value} of {device}, {len(names)} names, mean {mean * 1e6:.0f} us", flush=True)


role, port = sys.argv[1], sys.argv[2]
serve(port, sys.argv[3]) if role == "server" else call(port)
