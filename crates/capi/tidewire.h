/* tidewire.h: messages between sockets of stations, over LLC types 1 and 3.
 *
 * After A. C. Weaver and M. A. Colvin, "A Real-time Messaging System for Token Ring Networks"
 * (University of Virginia, TR-88-08, 1988). Its nine calls, LLCon to LLCstatus, are here under their
 * names; LLCpoll and the calls after it are ours. Only LLCpoll waits.
 *
 * A thread is a station. In the paper a process is a station, and its calls name none; here the thread
 * takes the place of the process. LLCon turns on the station of the thread that calls it, and each call
 * refers to the calling thread's own station. No station is shared, so there are no locks and no stale
 * handles, and a program may run several stations. A station that was not turned off ends with its
 * thread, and its buffers are not written.
 *
 * Network traffic is processed only inside calls. LLCxmit sends as much as it can at once; frames are
 * received, acknowledged and retransmitted inside LLCpoll and LLCstatus. A program that calls neither
 * for longer than its peers wait for an acknowledgement (20 ms, 8 times) does not answer them.
 *
 * Buffers passed to LLCrecv are written only inside LLCpoll and LLCstatus, by the thread that passed
 * them. Indications are called only inside LLCpoll.
 *
 * The program controls its sending rate: nothing here limits it.
 */

#ifndef TIDEWIRE_H
#define TIDEWIRE_H

/* Made by cbindgen; changes belong into crates/capi/src. */

#include <stddef.h>
#include <stdint.h>

/*
 Octets of the longest message; two fewer with CRC.
 */
#define LLC_LONGEST_MESSAGE 1497

/*
 Maximum number of sockets of a station.
 */
#define LLC_MOST_SOCKETS 127

/*
 Ticks of the timeouts in a second.
 */
#define LLC_TICKS_PER_SECOND 1000

/*
 Immediate outcome of a call. The first seven are the paper's, in its order.
 */
typedef enum LLCoutcome {
    /*
     "Operation accepted".
     */
    LLC_ACCEPTED = 0,
    /*
     "Invalid socket": not an even number from 2 to 254, or not open; no station is on; as a
     destination, an impossible socket, or a group if an acknowledgement is requested.
     */
    LLC_INVALID_SOCKET = 1,
    /*
     "Duplicate socket": it is open already.
     */
    LLC_DUPLICATE_SOCKET = 2,
    /*
     "Too many sockets": the number given to LLCon is open.
     */
    LLC_TOO_MANY_SOCKETS = 3,
    /*
     "Socket busy": an operation is pending on that side; for LLCon, the station is already on;
     for LLCpoll, it was called by an indication.
     */
    LLC_SOCKET_BUSY = 4,
    /*
     "Packet too large": longer than LLC_LONGEST_MESSAGE, CRC included.
     */
    LLC_PACKET_TOO_LARGE = 5,
    /*
     "Transmit/receive argument neither x nor r".
     */
    LLC_NEITHER_SIDE = 6,
    /*
     A pointer is null that must not be, or a number is out of its range.
     */
    LLC_INVALID_ARGUMENT = 7,
    /*
     The port cannot be opened, or is down: LLCerror has the details.
     */
    LLC_NO_NETWORK = 8,
    /*
     A fault in this library. The station should be turned off.
     */
    LLC_INTERNAL_ERROR = 9,
} LLCoutcome;

/*
 State of a socket's side: of its pending operation, or of its last one. The paper's five, in its
 order.
 */
typedef enum LLCstate {
    /*
     "Operation pending": it waits for its turn or for a message.
     */
    LLC_PENDING = 0,
    /*
     "No operation pending": there was none, or the last one succeeded.
     */
    LLC_IDLE = 1,
    /*
     "I/O in progress": sent; an acknowledged message keeps this state until its outcome is
     known.
     */
    LLC_IN_PROGRESS = 2,
    /*
     "Operation failed": LLCfailure returns the reason.
     */
    LLC_FAILED = 3,
    /*
     "Operation timed out".
     */
    LLC_TIMED_OUT = 4,
} LLCstate;

/*
 Reason for the failure of an operation.
 */
typedef enum LLCreason {
    /*
     The last operation did not fail.
     */
    LLC_NO_FAILURE = 0,
    /*
     No acknowledgement arrived; the message may nevertheless have been delivered.
     */
    LLC_NO_ACKNOWLEDGEMENT = 1,
    /*
     The receiver refused it: it had no buffer, or a shorter one, or the socket is not open.
     */
    LLC_REFUSED = 2,
    /*
     The network did not accept it, in any of the attempts.
     */
    LLC_NOT_TRANSMITTED = 3,
    /*
     Too many destinations are in use at a time.
     */
    LLC_TOO_MANY_DESTINATIONS = 4,
    /*
     A message arrived that was longer than the buffer, and is lost.
     */
    LLC_BUFFER_TOO_SMALL = 5,
} LLCreason;

/*
 Function called when an operation is over: LLC_IDLE on success, LLC_FAILED or LLC_TIMED_OUT. It
 may make every call except LLCpoll. It must return: no longjmp, no exception.
 */
typedef void (*LLCindication)(int sock, enum LLCstate state, void *context);

/*
 Source or destination of messages. (In the paper a station's address has one octet.)
 */
typedef struct LLCaddress {
    /*
     Socket: an even number from 2 to 254.
     */
    uint8_t socket;
    /*
     Station, or for messages without acknowledgement a group of stations.
     */
    uint8_t station[6];
} LLCaddress;

/*
 Counters since LLCon.
 */
typedef struct LLCcounts {
    /*
     Frames accepted by the network, including LLC's own.
     */
    uint64_t frames_sent;
    /*
     Frames received for this station.
     */
    uint64_t frames_received;
    /*
     Frames not accepted by the network.
     */
    uint64_t frames_not_sent;
    /*
     Number of times the network was down when it was used.
     */
    uint64_t network_down;
    /*
     Frames that do not belong to this service, or are invalid.
     */
    uint64_t foreign;
    /*
     Messages that found no buffer.
     */
    uint64_t no_buffer;
    /*
     Messages that were longer than the buffer.
     */
    uint64_t overruns;
    /*
     Messages that did not end with their CRC.
     */
    uint64_t bad_crc;
    /*
     Acknowledged messages that were retransmitted because no acknowledgement had arrived.
     */
    uint64_t sent_again;
    /*
     Duplicate messages, which were not delivered again.
     */
    uint64_t duplicates;
    /*
     Received frames that were lost because they were not taken in time.
     */
    uint64_t overrun_frames;
    /*
     Indications that were not called because LLCpoll was not called for too long.
     */
    uint64_t indications_lost;
} LLCcounts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Turns this thread's station on. It may open `socks` sockets, from 0 to LLC_MOST_SOCKETS.

 `port` names its access to the LAN: a kind, the kind's argument, and words in any order.

     "in-process station=02:00:00:00:00:01"      the threads of this process
     "udp 127.0.0.1:5001 station=02:00:00:00:00:01 peer=02:00:00:00:00:02@127.0.0.1:5002"
         processes, without privileges; "peer" may be repeated, "learn" admits every sender,
         "any-host" allows addresses of other hosts
     "ethernet eth0"                             802.3 frames; needs CAP_NET_RAW
         "station=" for an address other than the interface's, "group=" (may be repeated),
         "namespace=" for a network namespace made by ip-netns

 With "spin", LLCpoll polls on the last two kinds: lower latency, but it occupies a processor.

 # Safety
 `port` must be null or a zero-terminated text.
 */
enum LLCoutcome LLCon(int socks, const char *port);

/*
 Turns this thread's station off: resets and closes every socket, and closes the port. Buffers
 belong to the program again, and are no longer written. Pending operations cause no indication.
 Harmless if the station is off.
 */
enum LLCoutcome LLCoff(void);

/*
 Opens a socket: an even number from 2 to 254. Initially it has no indications, no timeouts,
 priority 0, no CRC, no acknowledgement, and one transmission per message.
 */
enum LLCoutcome LLCopen(int sock);

/*
 Closes a socket without pending operations. Indications not yet called are dropped.
 */
enum LLCoutcome LLCclose(int sock);

/*
 Sets the options of a socket's operations from the next one on.

 `xindication` and `rindication`, unless null, are called inside LLCpoll when a transmission or
 reception is over, with `context`. `xticks` and `rticks`: maximum ticks for an operation; 0 for
 no limit. `priority`: 0 (lowest) to 7; higher ones are served first, strictly. `crc`, if not 0,
 appends CRC-16/CCITT to each message and requires it in received ones: both ends set it, or
 neither. `ack`, if not 0, requests an acknowledgement from the receiver. `retry`: maximum number
 of transmissions of a message; 0 counts as 1, and without an acknowledgement the limit is 8.

 # Safety
 The functions must be callable with `context` in this thread until the socket is closed, or
 until other functions are set.
 */
enum LLCoutcome LLCoption(int sock,
                          LLCindication xindication,
                          LLCindication rindication,
                          uint32_t xticks,
                          uint32_t rticks,
                          int priority,
                          int crc,
                          int ack,
                          uint32_t retry,
                          void *context);

/*
 Transmits the `isize` octets at `ip` from socket `sock` to the address at `nap`. The message is
 copied: the program may reuse `ip` at once. LLCstatus reports the outcome.

 # Safety
 `nap` must be null or readable; `ip` must be readable for `isize` octets, or null.
 */
enum LLCoutcome LLCxmit(int sock, const struct LLCaddress *nap, const void *ip, size_t isize);

/*
 Enables the reception of one message of at most `isize` octets at socket `sock`. After a
 successful reception the message is at `ip`, its sender at `nap` and its length in octets at
 `osize`, unless these are null.

 # Safety
 Until the reception is over or reset, or the station is off, this thread's calls may write to
 the three pointers, and nothing else may use them.
 */
enum LLCoutcome LLCrecv(int sock, struct LLCaddress *nap, void *ip, size_t isize, size_t *osize);

/*
 Cancels the pending operation on a side of a socket: 'x' or 'r'. A message that was already sent
 may still be delivered. The buffer of a reception belongs to the program again.
 */
enum LLCoutcome LLCreset(int sock, char ch);

/*
 Processes network traffic without waiting, then writes the state of a side of a socket to `sp`.

 # Safety
 `sp` must be null or writable.
 */
enum LLCoutcome LLCstatus(int sock, char ch, enum LLCstate *sp);

/*
 Processes network traffic until an operation of any socket ends that was pending at the end of
 the last LLCpoll, or until `ticks` have passed; with 0 ticks it does not wait. Then calls the
 indications of operations that are over. (In the paper interrupts do both.)

 LLC_NO_NETWORK: the network was down meanwhile, or failed; operation continues when it is up
 again.
 */
enum LLCoutcome LLCpoll(uint32_t ticks);

/*
 Writes the reason for the failure of the last operation on a side of a socket to `reason`.

 # Safety
 `reason` must be null or writable.
 */
enum LLCoutcome LLCfailure(int sock, char ch, enum LLCreason *reason);

/*
 Writes the station's counters to `counts`. LLC_INVALID_SOCKET if the station is off.

 # Safety
 `counts` must be null or writable.
 */
enum LLCoutcome LLCcount(struct LLCcounts *counts);

/*
 Writes the six octets of this thread's station address to `station`. LLC_INVALID_SOCKET if the
 station is off.

 # Safety
 `station` must be null or writable for six octets.
 */
enum LLCoutcome LLCself(uint8_t *station);

/*
 Text of this thread's last error about its port, valid until the next call; empty if there was
 none.
 */
const char *LLCerror(void);

/*
 Text of an outcome, in the paper's words if it has them. The text is valid forever. An unknown
 number has a text of its own.
 */
const char *LLCtext(int outcome);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDEWIRE_H */
