/* Faults of a file system, for the tests: loaded with LD_PRELOAD, it lets one operation below a folder fail.

   FAULT_FOLDER   calls on paths below this folder count, and on descriptors opened there for writing
   FAULT_KIND     open, write, fsync, close, rename, unlink, mkdir or link; open is that for writing
   FAULT_NUMBER   which call, from 1 on; 0 counts only
   FAULT_ACTION   errno of the failure; 0: a write is short; below 0: the process gets that signal before the call
   FAULT_LASTS    1: every later call of the kind fails too

   `faults_set` sets the same within a process that has begun, and `faults_count` tells how many calls there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, FSYNC, CLOSE, RENAME, UNLINK, MKDIR, LINK, KINDS };
static const char *const NAMES[KINDS] = {"open", "write", "fsync", "close", "rename", "unlink", "mkdir", "link"};
enum { MAX_DESCRIPTORS = 4096 };
static char folder[4096], is_watched[MAX_DESCRIPTORS];
static int faulty_kind = -1, action, lasts;
static long number, counts[KINDS];

#define NEXT(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

void faults_set(const char *new_folder, const char *kind, long new_number, int new_action, int new_lasts) {
    snprintf(folder, sizeof folder, "%s", new_folder);
    memset(counts, 0, sizeof counts);
    number = new_number, action = new_action, lasts = new_lasts, faulty_kind = -1;
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(kind, NAMES[k])) faulty_kind = k;
}

long faults_count(int kind) { return counts[kind]; }

static const char *get(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

__attribute__((constructor)) static void begin(void) {
    faults_set(get("FAULT_FOLDER"), get("FAULT_KIND"), atol(get("FAULT_NUMBER")), atoi(get("FAULT_ACTION")),
               atoi(get("FAULT_LASTS")));
}

static int is_below(int directory, const char *path) {
    char whole[8300], link[64];
    size_t length = strlen(folder);
    if (!length) return 0;
    if (*path != '/') {
        ssize_t size;
        snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
        if ((size = readlink(link, whole, 4096)) < 0) return 0;
        snprintf(whole + size, sizeof whole - size, "/%s", path);
        path = whole;
    }
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Count a call; return whether it fails, with errno set, or is a write that is cut. */
static int fails(int kind) {
    long call = ++counts[kind];
    if (kind != faulty_kind || number <= 0 || (lasts ? call < number : call != number)) return 0;
    if (action < 0) {
        kill(getpid(), -action);
        return 0;
    }
    errno = action;
    return 1;
}

static int watch(int descriptor, int is_counted) {
    if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) is_watched[descriptor] = (char)is_counted;
    return descriptor;
}

static int is_known(int descriptor) {
    return descriptor >= 0 && descriptor < MAX_DESCRIPTORS && is_watched[descriptor];
}

static int takes_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

#define OPENER(name, directory, parameters, ...)                                             \
    int name parameters {                                                                    \
        va_list rest;                                                                        \
        va_start(rest, flags);                                                               \
        mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;                          \
        va_end(rest);                                                                        \
        int is_counted = (flags & O_ACCMODE) != O_RDONLY && is_below(directory, path);       \
        if (is_counted && fails(OPEN)) return -1;                                            \
        return watch(NEXT(name, __VA_ARGS__, mode), is_counted);                             \
    }
OPENER(open, AT_FDCWD, (const char *path, int flags, ...), path, flags)
OPENER(open64, AT_FDCWD, (const char *path, int flags, ...), path, flags)
OPENER(openat, at, (int at, const char *path, int flags, ...), at, path, flags)
OPENER(openat64, at, (int at, const char *path, int flags, ...), at, path, flags)

/* A short write takes half of the bytes, at least one. */
static size_t shorten(size_t size) { return size > 1 ? size / 2 : size; }

#define WRITER(name, parameters, full, cut)                                                  \
    ssize_t name parameters {                                                                \
        if (!is_known(descriptor) || !fails(WRITE)) return NEXT(name, descriptor, full);     \
        return action ? -1 : NEXT(name, descriptor, cut);                                    \
    }
#define AND ,
WRITER(write, (int descriptor, const void *data, size_t size), data AND size, data AND shorten(size))
WRITER(pwrite, (int descriptor, const void *data, size_t size, off_t at), data AND size AND at,
       data AND shorten(size) AND at)
WRITER(pwrite64, (int descriptor, const void *data, size_t size, off64_t at), data AND size AND at,
       data AND shorten(size) AND at)
WRITER(writev, (int descriptor, const struct iovec *parts, int count), parts AND count, parts AND 1)

int fsync(int descriptor) { return is_known(descriptor) && fails(FSYNC) ? -1 : NEXT(fsync, descriptor); }
int fdatasync(int descriptor) { return is_known(descriptor) && fails(FSYNC) ? -1 : NEXT(fdatasync, descriptor); }

/* As Linux does it: the descriptor is closed, whatever is returned. */
int close(int descriptor) {
    int has_failed = is_known(descriptor) && fails(CLOSE), reason = errno;
    watch(descriptor, 0);
    int result = NEXT(close, descriptor);
    if (!has_failed) return result;
    errno = reason;
    return -1;
}

#define CHANGER(name, kind, directory, path, parameters, ...)                                \
    int name parameters { return is_below(directory, path) && fails(kind) ? -1 : NEXT(name, __VA_ARGS__); }
CHANGER(rename, RENAME, AT_FDCWD, new, (const char *old, const char *new), old, new)
CHANGER(renameat, RENAME, at2, new, (int at, const char *old, int at2, const char *new), at, old, at2, new)
CHANGER(renameat2, RENAME, at2, new, (int at, const char *old, int at2, const char *new, unsigned flags), at, old, at2,
        new, flags)
CHANGER(link, LINK, AT_FDCWD, new, (const char *old, const char *new), old, new)
CHANGER(linkat, LINK, at2, new, (int at, const char *old, int at2, const char *new, int flags), at, old, at2, new, flags)
CHANGER(unlink, UNLINK, AT_FDCWD, path, (const char *path), path)
CHANGER(unlinkat, UNLINK, at, path, (int at, const char *path, int flags), at, path, flags)
CHANGER(mkdir, MKDIR, AT_FDCWD, path, (const char *path, mode_t mode), path, mode)
CHANGER(mkdirat, MKDIR, at, path, (int at, const char *path, mode_t mode), at, path, mode)
