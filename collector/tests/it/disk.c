/* A disk that does what `LLM_RUM_DISK` says, a file that can be written at any time: `read-only`, `store-full`,
   `journal-full`, `slow`, `unreadable`, or nothing. Loaded before libc into a process, whose calls on regular files
   pass here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is(const char *mode) {
    char said[16] = "";
    const char *path = getenv("LLM_RUM_DISK");
    int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    syscall(SYS_read, file, said, sizeof said - 1);
    syscall(SYS_close, file);
    return strcmp(said, mode) == 0;
}

/* Whether the file's name has these letters. */
static int is_named(int file, const char *part) {
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static int refuses(int file) {
    struct stat held;
    if (fstat(file, &held) != 0 || !S_ISREG(held.st_mode) || !is("read-only")) return 0;
    errno = EROFS;
    return 1;
}

static void waits(void) {
    struct timespec a_moment = {0, 20 * 1000 * 1000};
    while (is("slow")) nanosleep(&a_moment, NULL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t length) {
    return refuses(file) ? -1 : REAL(write)(file, bytes, length);
}

/* The first page of each file of the journal. */
static int is_lost(int file, off64_t at) {
    if (at >= 4096 || !is("unreadable") || !is_named(file, ".log")) return 0;
    errno = EIO;
    return 1;
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
    return is_lost(file, at) ? -1 : REAL(pread64)(file, bytes, length, at);
}

static int is_full(int file) {
    int of_store = is("store-full") && is_named(file, ".sqlite-wal");
    int of_journal = is("journal-full") && is_named(file, ".log");
    if (!of_store && !of_journal) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    return refuses(file) || is_full(file) ? -1 : REAL(pwrite64)(file, bytes, length, at);
}

int ftruncate64(int file, off64_t length) { return refuses(file) ? -1 : REAL(ftruncate64)(file, length); }

int rename(const char *from, const char *to) {
    if (!is("read-only")) return REAL(rename)(from, to);
    errno = EROFS;
    return -1;
}

int fsync(int file) {
    waits();
    return REAL(fsync)(file);
}

int fdatasync(int file) {
    waits();
    return REAL(fdatasync)(file);
}

static int may_open(int flags) {
    if (!(flags & (O_CREAT | O_TRUNC)) || !is("read-only")) return 1;
    errno = EROFS;
    return 0;
}

#define OPEN(name)                                    \
    int name(const char *path, int flags, ...) {      \
        va_list rest;                                 \
        va_start(rest, flags);                        \
        mode_t mode = va_arg(rest, mode_t);           \
        va_end(rest);                                 \
        return may_open(flags) ? REAL(name)(path, flags, mode) : -1; \
    }

OPEN(open)
OPEN(open64)
