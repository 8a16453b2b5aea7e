/* LD_PRELOAD: the shared page TROUBLE_PAGE says which calls on files under TROUBLE_DIR fail with EIO or EMFILE, and how
 * far the clock of the day is off. It counts the calls that failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct page {
    _Atomic int64_t clock_seconds;
    _Atomic int32_t writes_fail;
    _Atomic int32_t reads_fail;
    _Atomic int32_t opens_fail;
    _Atomic int32_t failed[3];
};

#define REAL(type, name, args) static type (*real) args; if (!real) real = dlsym(RTLD_NEXT, name)

static struct page *page(void) {
    static struct page *_Atomic known;
    struct page *found = known;
    if (found) return found;
    const char *path = getenv("TROUBLE_PAGE");
    if (!path) return NULL;
    int (*plain)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = plain(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (found == MAP_FAILED) return NULL;
    known = found;
    return found;
}

static int under(const char *path) {
    static const char *dir;
    if (!dir) dir = getenv("TROUBLE_DIR");
    return dir && strncmp(path, dir, strlen(dir)) == 0;
}

static int ours(int fd) {
    char link[64], path[4096];
    if (fd <= 2) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return under(path);
}

static int fails(int kind, int error) {
    atomic_fetch_add(&page()->failed[kind], 1);
    errno = error;
    return 1;
}
static int write_fails(int fd) { return page() && page()->writes_fail && ours(fd) && fails(0, EIO); }
static int read_fails(int fd) { return page() && page()->reads_fail && ours(fd) && fails(1, EIO); }
static int open_fails(const char *path) {
    return page() && page()->opens_fail && under(path) && fails(2, EMFILE);
}

ssize_t write(int fd, const void *from, size_t length) {
    REAL(ssize_t, "write", (int, const void *, size_t));
    return write_fails(fd) ? -1 : real(fd, from, length);
}
ssize_t pwrite(int fd, const void *from, size_t length, off_t at) {
    REAL(ssize_t, "pwrite", (int, const void *, size_t, off_t));
    return write_fails(fd) ? -1 : real(fd, from, length, at);
}
ssize_t pwrite64(int fd, const void *from, size_t length, off64_t at) {
    REAL(ssize_t, "pwrite64", (int, const void *, size_t, off64_t));
    return write_fails(fd) ? -1 : real(fd, from, length, at);
}
int fsync(int fd) {
    REAL(int, "fsync", (int));
    return write_fails(fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", (int));
    return write_fails(fd) ? -1 : real(fd);
}
int ftruncate(int fd, off_t length) {
    REAL(int, "ftruncate", (int, off_t));
    return write_fails(fd) ? -1 : real(fd, length);
}
int ftruncate64(int fd, off64_t length) {
    REAL(int, "ftruncate64", (int, off64_t));
    return write_fails(fd) ? -1 : real(fd, length);
}
ssize_t read(int fd, void *into, size_t length) {
    REAL(ssize_t, "read", (int, void *, size_t));
    return read_fails(fd) ? -1 : real(fd, into, length);
}
ssize_t pread(int fd, void *into, size_t length, off_t at) {
    REAL(ssize_t, "pread", (int, void *, size_t, off_t));
    return read_fails(fd) ? -1 : real(fd, into, length, at);
}
ssize_t pread64(int fd, void *into, size_t length, off64_t at) {
    REAL(ssize_t, "pread64", (int, void *, size_t, off64_t));
    return read_fails(fd) ? -1 : real(fd, into, length, at);
}

#define MODE(flags, mode) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) {
    REAL(int, "open", (const char *, int, ...));
    MODE(flags, mode)
    return open_fails(path) ? -1 : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    REAL(int, "open64", (const char *, int, ...));
    MODE(flags, mode)
    return open_fails(path) ? -1 : real(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(int, "clock_gettime", (clockid_t, struct timespec *));
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && page())
        time->tv_sec += page()->clock_seconds;
    return result;
}
