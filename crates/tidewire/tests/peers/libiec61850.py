"""MMS peer by libiec61850: `server PORT` prints `listening` and serves for a minute; `client PORT` browses and reads a
variable 100 times, and prints `read 100 VALUE`."""

import sys
import time

import pyiec61850.iec61850 as iec

DEVICE = "FEED"
VARIABLE = "FEEDLD0/MMXU1.TotW.mag.f"


def serve(port):
    model = iec.IedModel_create(DEVICE)
    device = iec.LogicalDevice_create("LD0", model)
    zero = iec.LogicalNode_create("LLN0", device)
    iec.CDC_ENS_create("Mod", iec.toModelNode(zero), 0)
    power = iec.LogicalNode_create("MMXU1", device)
    total = iec.CDC_MV_create("TotW", iec.toModelNode(power), 0, False)
    data_set = iec.DataSet_create("loads", zero)
    iec.DataSetEntry_create(data_set, "MMXU1$MX$TotW$mag$f", -1, None)
    fields = iec.RPT_OPT_SEQ_NUM | iec.RPT_OPT_TIME_STAMP | iec.RPT_OPT_REASON_FOR_INCLUSION
    triggers = iec.TRG_OPT_INTEGRITY | iec.TRG_OPT_GI | iec.TRG_OPT_DATA_CHANGED
    iec.ReportControlBlock_create("urcb01", zero, "feeder", False, "loads", 1, triggers, fields, 0, 200)
    server = iec.IedServer_create(model)
    iec.IedServer_setLocalIpAddress(server, "127.0.0.1")
    iec.IedServer_start(server, port)
    if not iec.IedServer_isRunning(server):
        sys.exit("the server does not run")
    leaf = iec.ModelNode_getChild(iec.toModelNode(total), "mag.f")
    iec.IedServer_updateFloatAttributeValue(server, iec.toDataAttribute(leaf), 12.5)
    print("listening", flush=True)
    time.sleep(60)


def browse(port):
    """Connects, and lists the logical devices."""
    connection = iec.IedConnection_create()
    error = iec.IedConnection_connect(connection, "127.0.0.1", port)
    if error != iec.IED_ERROR_OK:
        sys.exit(f"not connected: {error}")
    found = iec.IedConnection_getLogicalDeviceList(connection)
    if isinstance(found, (list, tuple)):
        return connection, found[0]
    iec.IedConnection_close(connection)
    iec.IedConnection_destroy(connection)
    return None


def call(port):
    # The first request of a connection is sometimes lost, with its own server more often than with others.
    attempts = (browse(port) for _ in range(20))
    connection, devices = next(found for found in attempts if found)
    name = iec.toCharP(iec.LinkedList_getNext(devices).data)
    begin = time.perf_counter()
    for _ in range(100):
        [value, error] = iec.IedConnection_readFloatValue(connection, VARIABLE, iec.IEC61850_FC_MX)
        if error != iec.IED_ERROR_OK:
            sys.exit(f"not read: {error}")
    mean = (time.perf_counter() - begin) / 100
    print(f"read 100 {value:g} of {name}, mean {mean * 1e6:.0f} us", flush=True)
    iec.IedConnection_close(connection)
    iec.IedConnection_destroy(connection)


role, port = sys.argv[1], int(sys.argv[2])
serve(port) if role == "server" else call(port)
