#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CallSteps.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MAKO_NO_STEPS
#endif
#endif

#if defined(__linux__) && !defined(MAKO_NO_STEPS)
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*watcher)(const char *operation, const char *path);
static char watched[PATH_MAX];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int is_telling;

int mako_steps_work(void) { return 1; }

void mako_step_calls(const char *folder, void (*step)(const char *operation, const char *path)) {
    pthread_mutex_lock(&turn);
    snprintf(watched, sizeof watched, "%s/", folder);
    watcher = step;
    pthread_mutex_unlock(&turn);
}

static void tell(const char *operation, const char *path) {
    // What the function itself does is no step.
    if (is_telling || !__atomic_load_n(&watcher, __ATOMIC_ACQUIRE) || !path) return;
    int code = errno;
    is_telling = 1;
    pthread_mutex_lock(&turn);
    if (watcher && strncmp(path, watched, strlen(watched)) == 0) watcher(operation, path);
    pthread_mutex_unlock(&turn);
    is_telling = 0;
    errno = code;
}

static void tell_descriptor(const char *operation, int descriptor) {
    if (is_telling || !__atomic_load_n(&watcher, __ATOMIC_ACQUIRE)) return;
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int code = errno;
    ssize_t length = readlink(link, path, sizeof path - 2);
    errno = code;
    if (length < 0) return;
    path[length] = 0;
    // The folder itself, which is synced.
    if (strlen(watched) == (size_t)length + 1) strcat(path, "/");
    tell(operation, path);
}

/// The system's function of a name.
#define SYSTEM(name)                                                                                                                   \
    static __typeof__(name) *system_function;                                                                                          \
    if (!system_function) system_function = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define MODE(flags, last)                                                                                                              \
    mode_t mode = 0;                                                                                                                   \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                                                             \
        va_list list;                                                                                                                  \
        va_start(list, last);                                                                                                          \
        mode = va_arg(list, mode_t);                                                                                                   \
        va_end(list);                                                                                                                  \
    }

static const char *opening(int flags) { return flags & O_CREAT ? "create" : "open"; }

int open(const char *path, int flags, ...) {
    SYSTEM(open);
    MODE(flags, flags)
    tell(opening(flags), path);
    return system_function(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    SYSTEM(open64);
    MODE(flags, flags)
    tell(opening(flags), path);
    return system_function(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    SYSTEM(openat);
    MODE(flags, flags)
    tell(opening(flags), path);
    return system_function(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    SYSTEM(openat64);
    MODE(flags, flags)
    tell(opening(flags), path);
    return system_function(folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    SYSTEM(mkdir);
    tell("create", path);
    return system_function(path, mode);
}

int link(const char *from, const char *to) {
    SYSTEM(link);
    tell("link", to);
    return system_function(from, to);
}

int rename(const char *from, const char *to) {
    SYSTEM(rename);
    tell("rename", from);
    return system_function(from, to);
}

int unlink(const char *path) {
    SYSTEM(unlink);
    tell("remove", path);
    return system_function(path);
}

int rmdir(const char *path) {
    SYSTEM(rmdir);
    tell("remove", path);
    return system_function(path);
}

int ftruncate(int descriptor, off_t size) {
    SYSTEM(ftruncate);
    tell_descriptor("resize", descriptor);
    return system_function(descriptor, size);
}

int fsync(int descriptor) {
    SYSTEM(fsync);
    tell_descriptor("sync", descriptor);
    return system_function(descriptor);
}

int fdatasync(int descriptor) {
    SYSTEM(fdatasync);
    tell_descriptor("sync", descriptor);
    return system_function(descriptor);
}

int flock(int descriptor, int operation) {
    SYSTEM(flock);
    tell_descriptor("lock", descriptor);
    return system_function(descriptor, operation);
}

int fcntl(int descriptor, int command, ...) {
    SYSTEM(fcntl);
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (command == F_OFD_SETLK || command == F_SETLK || command == F_SETLKW) tell_descriptor("lock", descriptor);
    return system_function(descriptor, command, argument);
}

long syscall(long number, ...) {
    SYSTEM(syscall);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) arguments[index] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2) tell("rename", (const char *)arguments[1]);
    return system_function(
        number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
#else
int mako_steps_work(void) { return 0; }

void mako_step_calls(const char *folder, void (*step)(const char *operation, const char *path)) {
    (void)folder, (void)step;
}
#endif
