/* tidewire.h: messages between sockets of stations, over LLC types 1 and 3.
 *
 * After A. C. Weaver and M. A. Colvin, "A Real-time Messaging System for Token Ring Networks"
 * (University of Virginia, TR-88-08, 1988). Its nine calls, LLCon to LLCstatus, are here under their
 * names; LLCpoll and those behind it are ours. Nothing waits but LLCpoll.
 *
 * A thread is a station. In the paper a process is one, and its calls name no station. So it is here,
 * with thread for process: LLCon turns on the station of the thread that calls it, and each call is
 * about the calling thread's own. No station is shared, so there is nothing to lock, no handle that
 * could be used after its end, and a program may run several stations. What a thread has forgotten
 * to turn off ends with it, its buffers untouched.
 *
 * The network moves only inside calls. LLCxmit sends what it can at once; frames are received,
 * acknowledged and sent again inside LLCpoll and LLCstatus. A program that calls neither for longer
 * than its peers wait for an acknowledgement (20 ms, 8 times) is silent for them.
 *
 * Buffers given to LLCrecv are written inside LLCpoll and LLCstatus, by the thread that gave them,
 * and at no other time. Indications are called inside LLCpoll alone.
 *
 * How fast a program sends is its own concern: nothing here holds it back.
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
 Sockets a station may have.
 */
#define LLC_MOST_SOCKETS 127

/*
 Ticks of the timeouts in a second.
 */
#define LLC_TICKS_PER_SECOND 1000

/*
 What a call says at once. The first seven are the paper's, in its order.
 */
typedef enum LLCoutcome {
    /*
     "Operation accepted".
     */
    LLC_ACCEPTED = 0,
    /*
     "Invalid socket": not an even number from 2 to 254, or not open; no station is on; as a
     destination, a socket that cannot exist, or a group where an acknowledgement is wanted.
     */
    LLC_INVALID_SOCKET = 1,
    /*
     "Duplicate socket": it is open already.
     */
    LLC_DUPLICATE_SOCKET = 2,
    /*
     "Too many sockets": as many are open as LLCon was told.
     */
    LLC_TOO_MANY_SOCKETS = 3,
    /*
     "Socket busy": an operation is pending on that side; for LLCon, the station is on already;
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
     The port cannot be opened, or is down: LLCerror says more.
     */
    LLC_NO_NETWORK = 8,
    /*
     A fault in this library. The station should be turned off.
     */
    LLC_INTERNAL_ERROR = 9,
} LLCoutcome;

/*
 The state of a socket's side: of its pending operation, or of its last one. The paper's five, in
 its order.
 */
typedef enum LLCstate {
    /*
     "Operation pending": it waits, for its turn or for a message.
     */
    LLC_PENDING = 0,
    /*
     "No operation pending": there was none, or the last one went well.
     */
    LLC_IDLE = 1,
    /*
     "I/O in progress": sent; an acknowledged message stays so until its outcome is known.
     */
    LLC_IN_PROGRESS = 2,
    /*
     "Operation failed": LLCfailure says why.
     */
    LLC_FAILED = 3,
    /*
     "Operation timed out".
     */
    LLC_TIMED_OUT = 4,
} LLCstate;

/*
 Why an operation failed.
 */
typedef enum LLCreason {
    /*
     The last operation did not fail.
     */
    LLC_NO_FAILURE = 0,
    /*
     No acknowledgement came; the message may have been delivered all the same.
     */
    LLC_NO_ACKNOWLEDGEMENT = 1,
    /*
     The receiver said that it did not take it: it had no buffer, or a shorter one, or the socket
     is not open.
     */
    LLC_REFUSED = 2,
    /*
     The network did not take it, as often as it was tried.
     */
    LLC_NOT_TRANSMITTED = 3,
    /*
     Too many destinations are in use at a time.
     */
    LLC_TOO_MANY_DESTINATIONS = 4,
    /*
     A message came that was longer than the buffer, and is lost.
     */
    LLC_BUFFER_TOO_SMALL = 5,
} LLCreason;

/*
 A function to be called when an operation is over: LLC_IDLE where it went well, LLC_FAILED or
 LLC_TIMED_OUT. It may make every call but LLCpoll. It must return: no longjmp, no exception.
 */
typedef void (*LLCindication)(int sock, enum LLCstate state, void *context);

/*
 Where messages go to and come from. (In the paper a station's address has one octet.)
 */
typedef struct LLCaddress {
    /*
     The socket there: an even number from 2 to 254.
     */
    uint8_t socket;
    /*
     The station, or for messages without acknowledgement a group of stations.
     */
    uint8_t station[6];
} LLCaddress;

/*
 How often things happened since LLCon.
 */
typedef struct LLCcounts {
    /*
     Frames the network took, LLC's own included.
     */
    uint64_t frames_sent;
    /*
     Frames for this station that came in.
     */
    uint64_t frames_received;
    /*
     Frames that the network did not take.
     */
    uint64_t frames_not_sent;
    /*
     Times that the network was down when it was used.
     */
    uint64_t network_down;
    /*
     Frames that are not of this service, or make no sense.
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
     Acknowledged messages that were sent again, since no acknowledgement had come.
     */
    uint64_t sent_again;
    /*
     Messages that came again and were not delivered again.
     */
    uint64_t duplicates;
    /*
     Frames that came in and were lost, since nobody took them in time.
     */
    uint64_t overrun_frames;
    /*
     Indications that were not called, since LLCpoll was not called for too long.
     */
    uint64_t indications_lost;
} LLCcounts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Turns this thread's station on. It may open `socks` sockets, from 0 to LLC_MOST_SOCKETS.

 `port` is how it reaches the LAN: a kind, what the kind needs, and words in any order.

     "in-process station=02:00:00:00:00:01"      the threads of this process
     "udp 127.0.0.1:5001 station=02:00:00:00:00:01 peer=02:00:00:00:00:02@127.0.0.1:5002"
         processes, without privileges; "peer" as often as wanted, "learn" takes in whoever
         sends, "any-host" allows addresses of other hosts
     "ethernet eth0"                             802.3 frames; needs CAP_NET_RAW
         "station=" for an address other than the interface's, "group=" as often as wanted,
         "namespace=" for a network namespace that ip-netns has made

 "spin" lets LLCpoll of the last two wait busily: sooner awake, for a whole processor.

 # Safety
 `port` is null or a text that ends with a zero octet.
 */
enum LLCoutcome LLCon(int socks, const char *port);

/*
 Turns this thread's station off: resets and closes every socket, and the port. Buffers are the
 program's again, and what they hold is not changed any more. No indication is called for what was
 pending. Does no harm where it is off.
 */
enum LLCoutcome LLCoff(void);

/*
 Opens a socket: an even number from 2 to 254. It has no indications, no timeouts, priority 0, no
 CRC, no acknowledgement, and sends once.
 */
enum LLCoutcome LLCopen(int sock);

/*
 Closes a socket on which nothing is pending. Indications not yet called never are.
 */
enum LLCoutcome LLCclose(int sock);

/*
 Sets what a socket's operations are like from the next one on.

 `xindication` and `rindication`, where not null, are called inside LLCpoll when a transmission or
 reception is over, with `context`. `xticks` and `rticks`: the ticks an operation may take; 0 is
 for ever. `priority`: 0 (lowest) to 7; higher ones are served first, strictly. `crc`, where not
 0, ends each message with CRC-16/CCITT and asks for it in what arrives: both ends set it, or
 neither. `ack`, where not 0, asks the receiver for an acknowledgement. `retry`: how often a
 message is sent at the most; 0 counts as 1, and where no acknowledgement comes, 8 is the most.

 # Safety
 The functions can be called with `context` in this thread until the socket is closed, or other
 ones are set.
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
 copied: the program may use `ip` again at once. LLCstatus says what became of it.

 # Safety
 `nap` is null or may be read; `ip` may be read for `isize` octets, or is null.
 */
enum LLCoutcome LLCxmit(int sock, const struct LLCaddress *nap, const void *ip, size_t isize);

/*
 Enables the reception of one message of at most `isize` octets at socket `sock`. When it is over,
 and went well, the message is at `ip`, its sender at `nap` and its octets at `osize`, where these
 are not null.

 # Safety
 Until the reception is over or reset, or the station off, the three may be written by this
 thread's calls, and are used by nothing else.
 */
enum LLCoutcome LLCrecv(int sock, struct LLCaddress *nap, void *ip, size_t isize, size_t *osize);

/*
 Takes back what is pending on a side of a socket: 'x' or 'r'. A message that was sent already may
 be delivered all the same. A reception's buffer is the program's again.
 */
enum LLCoutcome LLCreset(int sock, char ch);

/*
 Lets the network move without waiting, then puts the state of a side of a socket at `sp`.

 # Safety
 `sp` is null or may be written.
 */
enum LLCoutcome LLCstatus(int sock, char ch, enum LLCstate *sp);

/*
 Moves the network until an operation of any socket is over that was not over at the end of the
 last LLCpoll, or `ticks` have passed; with 0 ticks it does not wait. Then calls the indications of
 operations that are over. (In the paper interrupts do both.)

 LLC_NO_NETWORK: the network was down meanwhile, or failed; all goes on when it is up again.
 */
enum LLCoutcome LLCpoll(uint32_t ticks);

/*
 Puts at `reason` why the last operation on a side of a socket failed.

 # Safety
 `reason` is null or may be written.
 */
enum LLCoutcome LLCfailure(int sock, char ch, enum LLCreason *reason);

/*
 Puts at `counts` how often things happened. LLC_INVALID_SOCKET where the station is off.

 # Safety
 `counts` is null or may be written.
 */
enum LLCoutcome LLCcount(struct LLCcounts *counts);

/*
 Puts the six octets of this thread's station's address at `station`. LLC_INVALID_SOCKET where it
 is off.

 # Safety
 `station` is null or may be written for six octets.
 */
enum LLCoutcome LLCself(uint8_t *station);

/*
 What this thread's last complaint about its port was: a text that lasts until the next call; an
 empty one where there was none.
 */
const char *LLCerror(void);

/*
 An outcome in words: the paper's, where it has them. The text lasts for ever. A number that is no
 outcome has words of its own.
 */
const char *LLCtext(int outcome);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TIDEWIRE_H */
