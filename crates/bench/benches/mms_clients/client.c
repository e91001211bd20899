/* Reads one leaf with libiec61850's client, and prints the median time of a read in nanoseconds.
 *
 *   client LIBRARY PORT REFERENCE READS PERIOD_NS
 *
 * The library is opened at run time. Its client is called as a program in C calls it: one synchronous read after the
 * other, of a floating-point leaf with the functional constraint MX. A read begins PERIOD_NS after the end of the one
 * before it. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MX 1

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int order(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "the library has no %s\n", name);
        exit(1);
    }
    return found;
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: client LIBRARY PORT REFERENCE READS PERIOD_NS\n");
        return 2;
    }
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *(*create)(void) = symbol(library, "IedConnection_create");
    void (*connect)(void *, int *, const char *, int) = symbol(library, "IedConnection_connect");
    float (*read)(void *, int *, const char *, int) = symbol(library, "IedConnection_readFloatValue");
    void (*end)(void *) = symbol(library, "IedConnection_close");
    void (*destroy)(void *) = symbol(library, "IedConnection_destroy");

    int error = 0;
    void *connection = create();
    connect(connection, &error, "127.0.0.1", atoi(arguments[2]));
    int reads = atoi(arguments[4]);
    int64_t period = atoll(arguments[5]);
    struct timespec pause = {period / 1000000000, period % 1000000000};
    int64_t *times = calloc((size_t)reads, sizeof *times);
    for (int number = 0; number < reads && !error; number++) {
        nanosleep(&pause, NULL);
        int64_t began = now();
        read(connection, &error, arguments[3], MX);
        times[number] = now() - began;
    }
    end(connection);
    destroy(connection);
    if (error || !reads) {
        fprintf(stderr, "error %d\n", error);
        return 1;
    }
    qsort(times, (size_t)reads, sizeof *times, order);
    printf("%lld\n", (long long)times[reads / 2]);
    return 0;
}
