#include "CPlatform.h"

_Thread_local void *mako_thread_cell = 0;

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

int mako_process_barrier(void) {
    static int registered = 0;
    if (!registered) {
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return -1;
        registered = 1;
    }
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : -1;
}
#else
int mako_process_barrier(void) { return -1; }
#endif
