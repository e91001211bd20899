/* Receives messages with a CRC, and prints each from an indication: receive PORT COUNT.
 *
 *     receive "udp 127.0.0.1:5001 station=02:00:00:00:00:01 learn" 100
 */
#include "tidewire.h"
#include <stdio.h>
#include <stdlib.h>

enum { SOCKET = 4 };

struct inbox {
    LLCaddress from;
    char message[100];
    size_t length;
    int left;
};

/* Receives the next message into the same buffer. */
static void enable(struct inbox *inbox)
{
    LLCrecv(SOCKET, &inbox->from, inbox->message, sizeof inbox->message, &inbox->length);
}

static void received(int sock, LLCstate state, void *context)
{
    struct inbox *inbox = context;
    if (state == LLC_IDLE) {
        inbox->left--;
        printf("%d: \"%.*s\" from station %02x socket %d\n", sock, (int)inbox->length,
               inbox->message, inbox->from.station[5], inbox->from.socket);
    }
    if (inbox->left > 0)
        enable(inbox);
}

int main(int argc, char **argv)
{
    struct inbox inbox = { .left = argc == 3 ? atoi(argv[2]) : 0 };
    LLCoutcome outcome = argc == 3 ? LLCon(1, argv[1]) : LLC_INVALID_ARGUMENT;
    if (outcome != LLC_ACCEPTED) {
        fprintf(stderr, "receive PORT COUNT: %s %s\n", LLCtext(outcome), LLCerror());
        return 2;
    }
    LLCopen(SOCKET);
    LLCoption(SOCKET, NULL, received, 0, 0, 0, 1, 0, 0, &inbox);
    enable(&inbox);
    printf("listening\n");
    fflush(stdout);
    while (inbox.left > 0)
        LLCpoll(1000);
    /* A sender whose acknowledgement was lost retransmits; poll to answer it. */
    LLCpoll(200);
    LLCoff();
    return 0;
}
