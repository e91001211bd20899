"""MMS peer by libiec61850: `server PORT MODEL [FOLDER]` prints `listening` and serves for a minute, with the files of the
folder; `client PORT` browses and reads a variable 100 times, and prints `read 100 VALUE`; `file PORT NAME PATH` prints the
names of all files and writes one of them to a path."""

import ctypes
import pathlib
import sys
import time

import pyiec61850.iec61850 as iec

DEVICE = "FEED"
VARIABLE = "FEEDLD0/MMXU1.TotW.mag.f"


def serve(port, folder=None):
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
    if folder:
        iec.IedServer_setFilestoreBasepath(server, folder + "/")
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
    # The library sometimes says that a new connection is lost, and never sends the first request.
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


def fetch(port, name, path):
    """Reads a file by calls of the library itself, because the binding has no callbacks."""
    folder = pathlib.Path(iec.__file__).parent.parent / "pyiec61850.libs"
    library = ctypes.CDLL(str(next(folder.glob("libiec61850*"))))
    pointers = ["IedConnection_create", "IedConnection_getFileDirectory", "LinkedList_getNext", "LinkedList_getData"]
    for function in pointers:
        getattr(library, function).restype = ctypes.c_void_p
    library.FileDirectoryEntry_getFileName.restype = ctypes.c_char_p
    error = ctypes.c_int(0)

    def listed():
        """Connects, and lists the files."""
        connection = ctypes.c_void_p(library.IedConnection_create())
        library.IedConnection_connect(connection, ctypes.byref(error), b"127.0.0.1", port)
        if error.value:
            sys.exit(f"not connected: {error.value}")
        entry = library.IedConnection_getFileDirectory(connection, ctypes.byref(error), None)
        if entry:
            return connection, entry
        library.IedConnection_close(connection)
        library.IedConnection_destroy(connection)
        return None

    # As in `call`: the first request is sometimes not sent.
    attempts = (listed() for _ in range(20))
    connection, entry = next(found for found in attempts if found)
    names = []
    while entry := library.LinkedList_getNext(ctypes.c_void_p(entry)):
        data = ctypes.c_void_p(library.LinkedList_getData(ctypes.c_void_p(entry)))
        names.append(library.FileDirectoryEntry_getFileName(data).decode())
    content = bytearray()

    @ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)
    def take(_, octets, count):
        content.extend(ctypes.string_at(octets, count))
        return True

    library.IedConnection_getFile.restype = ctypes.c_uint32
    library.IedConnection_getFile(connection, ctypes.byref(error), name.encode(), take, None)
    if error.value:
        sys.exit(f"not read: {error.value}")
    pathlib.Path(path).write_bytes(content)
    library.IedConnection_close(connection)
    library.IedConnection_destroy(connection)
    print("files", " ".join(names), flush=True)


role, port = sys.argv[1], int(sys.argv[2])
if role == "server":
    serve(port, *sys.argv[4:])
elif role == "file":
    fetch(port, *sys.argv[3:])
else:
    call(port)
