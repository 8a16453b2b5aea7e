/* LD_PRELOAD: lets the k-th write or sync of a file under FAIL_DIR fail with EIO, and the FAIL_COUNT-1 after it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int ours(int fd) {
    static const char *dir;
    char link[64], path[4096];
    if (fd <= 2) return 0;
    if (!dir) dir = getenv("FAIL_DIR");
    if (!dir) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, dir, strlen(dir)) == 0;
}

/* Whether this call fails. The first failure is told on stderr, with the name of the call. */
static int fails(int fd, const char *name) {
    static long at = -1, count = 1;
    if (!ours(fd)) return 0;
    if (at < 0) {
        const char *text = getenv("FAIL_COUNT");
        if (text) count = atol(text);
        text = getenv("FAIL_AT");
        at = text ? atol(text) : 0;
    }
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (at == 0 || call < at || call >= at + count) return 0;
    if (call == at) {
        char line[64];
        int length = snprintf(line, sizeof line, "fail_io: %s %ld\n", name, call);
        ssize_t (*plain)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (plain(2, line, (size_t)length) < 0) return 1;
    }
    errno = EIO;
    return 1;
}

#define REAL(type, name, args) static type (*real) args; if (!real) real = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *from, size_t length) {
    REAL(ssize_t, "write", (int, const void *, size_t));
    return fails(fd, "write") ? -1 : real(fd, from, length);
}
ssize_t pwrite(int fd, const void *from, size_t length, off_t at) {
    REAL(ssize_t, "pwrite", (int, const void *, size_t, off_t));
    return fails(fd, "pwrite") ? -1 : real(fd, from, length, at);
}
ssize_t pwrite64(int fd, const void *from, size_t length, off64_t at) {
    REAL(ssize_t, "pwrite64", (int, const void *, size_t, off64_t));
    return fails(fd, "pwrite64") ? -1 : real(fd, from, length, at);
}
int fsync(int fd) {
    REAL(int, "fsync", (int));
    return fails(fd, "fsync") ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", (int));
    return fails(fd, "fdatasync") ? -1 : real(fd);
}
int ftruncate(int fd, off_t length) {
    REAL(int, "ftruncate", (int, off_t));
    return fails(fd, "ftruncate") ? -1 : real(fd, length);
}
int ftruncate64(int fd, off64_t length) {
    REAL(int, "ftruncate64", (int, off64_t));
    return fails(fd, "ftruncate64") ? -1 : real(fd, length);
}
