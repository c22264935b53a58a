// Interrupts every third of the engine's calls to the system, as signals do: preloaded into the test program by `make interrupted`. On
// local file systems signals seldom interrupt these calls, and on some over a network they do.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { CALLS = 17 };
static const char *const names[CALLS] = {
    "pread", "pwrite", "open", "ftruncate", "fdatasync", "fsync", "flock", "fallocate", "fstat",
    "stat", "lstat", "fchmod", "fchown", "readlink", "fcntl", "ioctl", "opendir"};
static _Atomic long all, interrupted[CALLS];

/// Whether a call from an address is to be interrupted: of the test program's own code, not of libraries.
static int interrupt(int call, void *caller) {
    Dl_info place;
    if (!dladdr(caller, &place) || !place.dli_fname || !strstr(place.dli_fname, "PackageTests.xctest")) return 0;
    if (++all % 3) return 0;
    interrupted[call]++;
    errno = EINTR;
    return 1;
}

__attribute__((destructor)) static void report(void) {
    if (all == 0) return;
    fputs("interrupted:", stderr);
    for (int call = 0; call < CALLS; call++)
        if (interrupted[call]) fprintf(stderr, " %s %ld", names[call], (long)interrupted[call]);
    fputs("\n", stderr);
}

#define CALL(number, result, name, failure, parameters, arguments)                    \
    result name parameters {                                                          \
        static result(*next) parameters;                                              \
        if (!next) next = (result(*) parameters)dlsym(RTLD_NEXT, #name);              \
        return interrupt(number, __builtin_return_address(0)) ? failure : next arguments; \
    }

CALL(0, ssize_t, pread, -1, (int file, void *bytes, size_t count, off_t place), (file, bytes, count, place))
CALL(1, ssize_t, pwrite, -1, (int file, const void *bytes, size_t count, off_t place), (file, bytes, count, place))
CALL(3, int, ftruncate, -1, (int file, off_t size), (file, size))
CALL(4, int, fdatasync, -1, (int file), (file))
CALL(5, int, fsync, -1, (int file), (file))
CALL(6, int, flock, -1, (int file, int kind), (file, kind))
CALL(7, int, fallocate, -1, (int file, int mode, off_t place, off_t count), (file, mode, place, count))
CALL(8, int, fstat, -1, (int file, struct stat *information), (file, information))
CALL(9, int, stat, -1, (const char *path, struct stat *information), (path, information))
CALL(10, int, lstat, -1, (const char *path, struct stat *information), (path, information))
CALL(11, int, fchmod, -1, (int file, mode_t mode), (file, mode))
CALL(12, int, fchown, -1, (int file, uid_t owner, gid_t group), (file, owner, group))
CALL(13, ssize_t, readlink, -1, (const char *path, char *bytes, size_t count), (path, bytes, count))
CALL(16, DIR *, opendir, 0, (const char *path), (path))

#define VARIADIC(number, name, head, last, condition, type, ...)                             \
    int name(head, ...) {                                                                    \
        static int (*next)(head, ...);                                                       \
        if (!next) next = (int (*)(head, ...))dlsym(RTLD_NEXT, #name);                       \
        va_list list;                                                                        \
        va_start(list, last);                                                                \
        type rest = va_arg(list, type);                                                      \
        va_end(list);                                                                        \
        return (condition) && interrupt(number, __builtin_return_address(0)) ? -1 : next(__VA_ARGS__, rest); \
    }
#define OPEN const char *path, int flags
#define FCNTL int file, int command
#define IOCTL int file, unsigned long request

VARIADIC(2, open, OPEN, flags, 1, mode_t, path, flags)
// Of all commands those about locks alone can be interrupted.
VARIADIC(14, fcntl, FCNTL, command, command == F_OFD_SETLK || command == F_OFD_GETLK, void *, file, command)
VARIADIC(15, ioctl, IOCTL, request, 1, void *, file, request)
