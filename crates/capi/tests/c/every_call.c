/* Every call, two stations in one process, and the calls that must fail; to be run under checkers. */
#include "tidewire.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(claim)                                                                               \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { SOCKET = 4, MESSAGES = 200 };

static const char ONE[] = "in-process station=02:00:00:00:00:01";
static const char OTHER[] = "in-process station=02:00:00:00:00:02";
static pthread_barrier_t both_are_on;

static void refused(void)
{
    LLCaddress to = { .socket = SOCKET, .station = { 2, 0, 0, 0, 0, 1 } };
    LLCaddress from;
    LLCstate state;
    LLCreason reason;
    LLCcounts counts;
    uint8_t self[6];
    static char octets[2000];
    size_t length;

    CHECK(LLCopen(SOCKET) == LLC_INVALID_SOCKET);
    CHECK(LLCpoll(0) == LLC_INVALID_SOCKET && LLCcount(&counts) == LLC_INVALID_SOCKET);
    CHECK(LLCon(1, NULL) == LLC_INVALID_ARGUMENT && LLCon(-1, ONE) == LLC_INVALID_ARGUMENT);
    CHECK(LLCon(128, ONE) == LLC_TOO_MANY_SOCKETS && LLCon(1, "tcp") == LLC_NO_NETWORK);
    CHECK(strstr(LLCerror(), "tcp") != NULL);
    CHECK(LLCon(1, "ethernet no-such0") == LLC_NO_NETWORK && strstr(LLCerror(), "no-such0") != NULL);
    CHECK(LLCon(1, ONE) == LLC_ACCEPTED && LLCon(1, ONE) == LLC_SOCKET_BUSY);
    CHECK(LLCself(self) == LLC_ACCEPTED && self[5] == 1 && LLCself(NULL) == LLC_INVALID_ARGUMENT);
    static const int never[] = { -2, 0, 1, 3, 255, 256, 260, 2147483646 };
    for (size_t n = 0; n < sizeof never / sizeof *never; n++)
        CHECK(LLCopen(never[n]) == LLC_INVALID_SOCKET);
    CHECK(LLCopen(SOCKET) == LLC_ACCEPTED && LLCopen(SOCKET) == LLC_DUPLICATE_SOCKET);
    CHECK(LLCopen(254) == LLC_TOO_MANY_SOCKETS);
    CHECK(LLCoption(SOCKET, NULL, NULL, 0, 0, 8, 0, 0, 0, NULL) == LLC_INVALID_ARGUMENT);
    CHECK(LLCoption(SOCKET, NULL, NULL, 0, 0, -1, 0, 0, 0, NULL) == LLC_INVALID_ARGUMENT);
    CHECK(LLCxmit(SOCKET, NULL, octets, 1) == LLC_INVALID_ARGUMENT);
    CHECK(LLCxmit(SOCKET, &to, NULL, 1) == LLC_INVALID_ARGUMENT);
    CHECK(LLCxmit(SOCKET, &to, octets, LLC_LONGEST_MESSAGE + 1) == LLC_PACKET_TOO_LARGE);
    CHECK(LLCxmit(SOCKET, &to, octets, (size_t)-1) == LLC_PACKET_TOO_LARGE);
    to.socket = 5;
    CHECK(LLCxmit(SOCKET, &to, octets, 1) == LLC_INVALID_SOCKET);
    CHECK(LLCrecv(SOCKET, &from, NULL, 1, &length) == LLC_INVALID_ARGUMENT);
    CHECK(LLCrecv(SOCKET, &from, octets, LLC_LONGEST_MESSAGE + 1, &length) == LLC_PACKET_TOO_LARGE);
    CHECK(LLCstatus(SOCKET, 'x', NULL) == LLC_INVALID_ARGUMENT);
    CHECK(LLCstatus(SOCKET, 'y', &state) == LLC_NEITHER_SIDE);
    CHECK(LLCreset(SOCKET, 'X') == LLC_NEITHER_SIDE);
    CHECK(LLCfailure(SOCKET, 0, &reason) == LLC_NEITHER_SIDE);
    CHECK(LLCfailure(SOCKET, 'x', NULL) == LLC_INVALID_ARGUMENT);
    CHECK(LLCcount(NULL) == LLC_INVALID_ARGUMENT);
    CHECK(LLCrecv(SOCKET, NULL, octets, 10, NULL) == LLC_ACCEPTED);
    CHECK(LLCrecv(SOCKET, NULL, octets, 10, NULL) == LLC_SOCKET_BUSY);
    CHECK(LLCclose(SOCKET) == LLC_SOCKET_BUSY);
    CHECK(LLCreset(SOCKET, 'r') == LLC_ACCEPTED && LLCclose(SOCKET) == LLC_ACCEPTED);
    CHECK(LLCclose(SOCKET) == LLC_INVALID_SOCKET && LLCreset(SOCKET, 'r') == LLC_INVALID_SOCKET);
    CHECK(LLCxmit(SOCKET, &to, octets, 1) == LLC_INVALID_SOCKET);
    CHECK(LLCrecv(SOCKET, NULL, octets, 10, NULL) == LLC_INVALID_SOCKET);
    CHECK(LLCstatus(SOCKET, 'r', &state) == LLC_INVALID_SOCKET);
    CHECK(LLCoff() == LLC_ACCEPTED && LLCoff() == LLC_ACCEPTED);
}

/* A buffer that is freed after a reset is never written again. */
static void a_buffer_given_back(void)
{
    CHECK(LLCon(1, ONE) == LLC_ACCEPTED && LLCopen(SOCKET) == LLC_ACCEPTED);
    char *buffer = malloc(10);
    CHECK(LLCrecv(SOCKET, NULL, buffer, 10, NULL) == LLC_ACCEPTED);
    CHECK(LLCreset(SOCKET, 'r') == LLC_ACCEPTED);
    free(buffer);
    LLCaddress to = { .socket = SOCKET, .station = { 2, 0, 0, 0, 0, 1 } };
    LLCaddress everybody = { .socket = SOCKET };
    memset(everybody.station, 0xFF, sizeof everybody.station);
    CHECK(LLCxmit(SOCKET, &everybody, "all", 3) == LLC_ACCEPTED);
    CHECK(LLCxmit(SOCKET, &to, NULL, 0) == LLC_ACCEPTED);
    CHECK(LLCpoll(10) == LLC_ACCEPTED);
    /* A station that is never turned off, with a lent buffer, ends with the thread. */
    buffer = malloc(10);
    CHECK(LLCrecv(SOCKET, NULL, buffer, 10, NULL) == LLC_ACCEPTED);
    CHECK(LLCoff() == LLC_ACCEPTED);
    free(buffer);
}

static void timed_out(int sock, LLCstate state, void *context)
{
    CHECK(sock == SOCKET && state == LLC_TIMED_OUT && LLCpoll(0) == LLC_SOCKET_BUSY);
    CHECK(LLCreset(SOCKET, 'r') == LLC_ACCEPTED && LLCclose(SOCKET) == LLC_ACCEPTED);
    *(int *)context += 1;
    CHECK(LLCoff() == LLC_ACCEPTED);
}

/* Without a peer: the end of both sides is indicated, until the first turns the station off. */
static void alone(void)
{
    LLCaddress to = { .socket = SOCKET, .station = { 2, 0, 0, 0, 0, 9 } };
    char buffer[10];
    int told = 0;
    CHECK(LLCon(1, ONE) == LLC_ACCEPTED && LLCopen(SOCKET) == LLC_ACCEPTED);
    CHECK(LLCoption(SOCKET, timed_out, timed_out, 5, 5, 0, 1, 1, 8, &told) == LLC_ACCEPTED);
    CHECK(LLCxmit(SOCKET, &to, "x", 1) == LLC_ACCEPTED);
    CHECK(LLCrecv(SOCKET, NULL, buffer, sizeof buffer, NULL) == LLC_ACCEPTED);
    while (told == 0) {
        LLCstate state;
        do {
            CHECK(LLCstatus(SOCKET, 'r', &state) == LLC_ACCEPTED);
        } while (state == LLC_PENDING);
        do {
            CHECK(LLCstatus(SOCKET, 'x', &state) == LLC_ACCEPTED);
        } while (state == LLC_PENDING || state == LLC_IN_PROGRESS);
        CHECK(state == LLC_TIMED_OUT && LLCpoll(0) == LLC_ACCEPTED);
    }
    CHECK(told == 1 && LLCopen(SOCKET) == LLC_INVALID_SOCKET);
}

static LLCstate end_of(char side)
{
    LLCstate state;
    do {
        CHECK(LLCstatus(SOCKET, side, &state) == LLC_ACCEPTED);
        CHECK(state == LLC_IDLE || LLCpoll(100) == LLC_ACCEPTED);
    } while (state == LLC_PENDING || state == LLC_IN_PROGRESS);
    return state;
}

static void on(const char *port)
{
    CHECK(LLCon(1, port) == LLC_ACCEPTED && LLCopen(SOCKET) == LLC_ACCEPTED);
    CHECK(LLCoption(SOCKET, NULL, NULL, 0, 0, 0, 1, 1, 1000, NULL) == LLC_ACCEPTED);
}

static void *answerer(void *unused)
{
    (void)unused;
    on(OTHER);
    pthread_barrier_wait(&both_are_on);
    for (int n = 0; n < MESSAGES; n++) {
        LLCaddress from = { .socket = 0 };
        size_t length = 0;
        char *buffer = malloc(LLC_LONGEST_MESSAGE - 2);
        CHECK(LLCrecv(SOCKET, &from, buffer, LLC_LONGEST_MESSAGE - 2, &length) == LLC_ACCEPTED);
        CHECK(end_of('r') == LLC_IDLE && from.socket == SOCKET && from.station[5] == 1);
        CHECK(LLCxmit(SOCKET, &from, buffer, length) == LLC_ACCEPTED);
        free(buffer);
        CHECK(end_of('x') == LLC_IDLE);
    }
    /* Not turned off: the station ends with its thread. */
    return NULL;
}

static void exchange(void)
{
    static char sent[LLC_LONGEST_MESSAGE], received[LLC_LONGEST_MESSAGE];
    LLCaddress to = { .socket = SOCKET, .station = { 2, 0, 0, 0, 0, 2 } };
    LLCcounts counts;
    pthread_t thread;
    pthread_barrier_init(&both_are_on, NULL, 2);
    CHECK(pthread_create(&thread, NULL, answerer, NULL) == 0);
    on(ONE);
    pthread_barrier_wait(&both_are_on);
    for (int n = 0; n < MESSAGES; n++) {
        /* Every length from 1 to the longest, in steps of 7. */
        size_t length = 1 + 7 * (size_t)n, heard = 0;
        memset(sent, n, sizeof sent);
        CHECK(LLCrecv(SOCKET, NULL, received, sizeof received - 2, &heard) == LLC_ACCEPTED);
        CHECK(LLCxmit(SOCKET, &to, sent, length) == LLC_ACCEPTED);
        CHECK(end_of('x') == LLC_IDLE && end_of('r') == LLC_IDLE);
        CHECK(heard == length && memcmp(sent, received, length) == 0);
    }
    CHECK(LLCcount(&counts) == LLC_ACCEPTED && counts.bad_crc == 0 && counts.overruns == 0);
    CHECK(counts.frames_sent >= 2 * MESSAGES && counts.frames_received >= 2 * MESSAGES);
    CHECK(LLCoff() == LLC_ACCEPTED);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_barrier_destroy(&both_are_on);
}

int main(void)
{
    refused();
    a_buffer_given_back();
    alone();
    exchange();
    printf("every call: %d exchanges\n", MESSAGES);
    return 0;
}
