/* Sends numbered messages, each acknowledged and with a CRC: send PORT STATION COUNT.
 *
 *     send "udp 127.0.0.1:5002 station=02:00:00:00:00:02 peer=02:00:00:00:00:01@127.0.0.1:5001" \
 *          02:00:00:00:00:01 100
 */
#include "tidewire.h"
#include <stdio.h>
#include <stdlib.h>

enum { SOCKET = 4, TRANSMISSIONS = 8 };

static void must(LLCoutcome outcome, const char *what)
{
    if (outcome == LLC_ACCEPTED)
        return;
    fprintf(stderr, "%s: %s %s\n", what, LLCtext(outcome), LLCerror());
    exit(1);
}

int main(int argc, char **argv)
{
    LLCaddress to = { .socket = SOCKET };
    unsigned octets[6];
    if (argc != 4 || sscanf(argv[2], "%x:%x:%x:%x:%x:%x", &octets[0], &octets[1], &octets[2],
                            &octets[3], &octets[4], &octets[5]) != 6) {
        fprintf(stderr, "usage: send PORT STATION COUNT\n");
        return 2;
    }
    for (int n = 0; n < 6; n++)
        to.station[n] = (uint8_t)octets[n];
    must(LLCon(1, argv[1]), "LLCon");
    must(LLCopen(SOCKET), "LLCopen");
    must(LLCoption(SOCKET, NULL, NULL, 0, 0, 7, 1, 1, TRANSMISSIONS, NULL), "LLCoption");
    int count = atoi(argv[3]), failed = 0;
    for (int number = 0; number < count; number++) {
        char message[32];
        int length = snprintf(message, sizeof message, "message %d", number);
        must(LLCxmit(SOCKET, &to, message, (size_t)length), "LLCxmit");
        LLCstate state;
        do {
            LLCpoll(100);
            must(LLCstatus(SOCKET, 'x', &state), "LLCstatus");
        } while (state == LLC_PENDING || state == LLC_IN_PROGRESS);
        failed += state != LLC_IDLE;
    }
    printf("%d of %d acknowledged\n", count - failed, count);
    LLCclose(SOCKET);
    LLCoff();
    return failed > 0;
}
