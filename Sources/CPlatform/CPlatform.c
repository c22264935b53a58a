#include "CPlatform.h"

_Thread_local void *mako_thread_cell = 0;
int mako_has_process_barrier = 0;

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void mako_register_process_barrier(void) {
    mako_has_process_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

int mako_process_barrier(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : -1;
}
#else
int mako_process_barrier(void) { return -1; }
#endif
