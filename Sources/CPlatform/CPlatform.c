#if defined(__linux__)
#define _GNU_SOURCE
#include <fcntl.h>
#endif
#include "CPlatform.h"

_Thread_local void *mako_thread_cell = 0;
_Thread_local void *mako_thread_scope = 0;
struct mako_object_lock mako_object_locks[MAKO_OBJECT_LOCKS];
int mako_has_process_barrier = 0;

#if defined(__linux__)
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void mako_register_process_barrier(void) {
    mako_has_process_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

int mako_process_barrier(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : -1;
}

void mako_start_writing(int descriptor, int64_t offset, int64_t count) {
    (void)sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

int mako_open_direct(int descriptor) {
    // By the descriptor, since the path may lead to another file by now.
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
}
#else
int mako_process_barrier(void) { return -1; }
int mako_open_direct(int descriptor) {
    (void)descriptor;
    return -1;
}
void mako_start_writing(int descriptor, int64_t offset, int64_t count) {
    (void)descriptor;
    (void)offset;
    (void)count;
}
#endif
