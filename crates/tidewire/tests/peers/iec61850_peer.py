"""MMS peer by iec61850: `server PORT MODEL` prints `listening` and serves for a minute; `client PORT` reads a variable 100
times, and prints `read 100 VALUE`."""

import asyncio
import sys
import time

import iec61850


async def serve(port, model):
    server = iec61850.IedServer.from_scl(model, ied_name="FEED")
    server.bind(f"127.0.0.1:{port}")
    await server.start()
    print("listening", flush=True)
    await asyncio.sleep(60)


async def call(port):
    connection = await iec61850.IedConnection.connect(f"127.0.0.1:{port}")
    directory = await connection.get_server_directory()
    begin = time.perf_counter()
    for _ in range(100):
        value = await connection.read_float("FEEDLD0/MMXU1.TotW.mag.f", iec61850.FC.MX)
    mean = (time.perf_counter() - begin) / 100
    print(f"read 100 {value:g} of {directory[0]}, mean {mean * 1e6:.0f} us", flush=True)
    await connection.disconnect()


role, port = sys.argv[1], int(sys.argv[2])
asyncio.run(serve(port, sys.argv[3]) if role == "server" else call(port))
