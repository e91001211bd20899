"""An S7 server or client of python-snap7, of its 2.x or 3.x line: a class 0 peer for the tests."""

import sys
import time

import snap7

role, port = sys.argv[1], int(sys.argv[2])
if role == "server":
    from snap7.server import Server

    server = Server()
    try:
        server.start(tcp_port=port)
    except TypeError:
        server.start(tcpport=port)
    print("listening", flush=True)
    time.sleep(30)
else:
    from snap7.client import Client

    client = Client()
    try:
        try:
            client.connect("127.0.0.1", 0, 1, tcp_port=port)
        except TypeError:
            client.connect("127.0.0.1", 0, 1, tcpport=port)
        print("connected", flush=True)
    except Exception as error:
        print("connect:", error, flush=True)
