/* A process that dies, or whose disk is full, from one of its calls on. `LLM_RUM_STEP` says which: `kill 12` or
   `full 12`. Calls that change a regular file, or the name of one, are counted from 1. `LLM_RUM_STEPS` names a file to
   which the number of calls is written at the end. Loaded before libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long steps;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Whether the call may be carried out. */
static int may(int needs_space) {
    long step = atomic_fetch_add(&steps, 1) + 1;
    const char *said = getenv("LLM_RUM_STEP");
    if (!said || step < atol(said + strlen("kill "))) return 1;
    if (strncmp(said, "kill", 4) == 0) kill(getpid(), SIGKILL);
    if (!needs_space) return 1;
    errno = ENOSPC;
    return 0;
}

static int is_regular(int file) {
    struct stat held;
    return fstat(file, &held) == 0 && S_ISREG(held.st_mode);
}

ssize_t write(int file, const void *bytes, size_t length) {
    return !is_regular(file) || may(1) ? REAL(write)(file, bytes, length) : -1;
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    return !is_regular(file) || may(1) ? REAL(pwrite64)(file, bytes, length, at) : -1;
}

int ftruncate64(int file, off64_t length) { return may(0) ? REAL(ftruncate64)(file, length) : -1; }

int rename(const char *from, const char *to) { return may(0) ? REAL(rename)(from, to) : -1; }

int unlink(const char *path) { return may(0) ? REAL(unlink)(path) : -1; }

int fsync(int file) { return may(0) ? REAL(fsync)(file) : -1; }

int fdatasync(int file) { return may(0) ? REAL(fdatasync)(file) : -1; }

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("LLM_RUM_STEPS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", steps);
        fclose(file);
    }
}
