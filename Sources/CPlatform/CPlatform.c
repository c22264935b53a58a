#if defined(__linux__)
#define _GNU_SOURCE
#include <fcntl.h>
#endif
#include "CPlatform.h"

_Thread_local void *mako_thread_cell = 0;
_Thread_local void *mako_thread_scope = 0;
_Thread_local void *mako_cancellation = 0;
_Thread_local int32_t mako_release_level = 0;
_Thread_local void *mako_release_list = 0;
struct mako_object_lock mako_object_locks[MAKO_OBJECT_LOCKS];
int mako_has_process_barrier = 0;
uint32_t mako_forks = 0;

extern void *swift_unownedRetain(void *object);
extern void swift_unownedRelease(void *object);
extern void *swift_tryRetain(void *object);
extern _Bool swift_isDeallocating(void *object);
extern void *swift_retain_n(void *object, uint32_t references);
extern void swift_release_n(void *object, uint32_t references);

void mako_hold_memory(void *object) { (void)swift_unownedRetain(object); }
void mako_release_memory(void *object) { swift_unownedRelease(object); }
void *mako_try_retain(void *object) { return swift_tryRetain(object); }
_Bool mako_has_ended(void *object) { return swift_isDeallocating(object); }
void mako_retain(void *object, uint32_t references) { (void)swift_retain_n(object, references); }
void mako_release(void *object, uint32_t references) { swift_release_n(object, references); }

#if defined(__linux__)
#include <errno.h>
#include <linux/fs.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void mako_register_process_barrier(void) {
    const char *without = getenv("MAKO_NO_PROCESS_BARRIER");
    if (without && *without) return;
    mako_has_process_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

int mako_process_barrier(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return 0;
    // Refused for good: fences cost less than the slow barrier for each eviction.
    if (errno != ENOMEM) return -1;
    // Without memory the kernel cannot issue that one now; this one is slow and needs none.
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0 ? 0 : -1;
}

void mako_start_writing(int descriptor, int64_t offset, int64_t count) {
    (void)sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

void mako_start_reading(int descriptor, int64_t offset, int64_t count) {
    (void)posix_fadvise(descriptor, offset, count, POSIX_FADV_WILLNEED);
}

int mako_share_blocks(int descriptor, int source) {
    int result;
    do result = ioctl(descriptor, FICLONE, source);
    while (result != 0 && errno == EINTR);
    return result;
}

int mako_allocate(int descriptor, int64_t start, int64_t count) {
    int result;
    // Not posix_fallocate, which libraries emulate: they write a zero into each block that reads as zero, over what
    // another thread has written there meanwhile.
    do result = fallocate(descriptor, 0, (off_t)start, (off_t)count);
    while (result != 0 && errno == EINTR);
    if (result == 0) return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? MAKO_NO_SUCH_ALLOCATION : -1;
}

int mako_open_direct(int descriptor) {
    // Open by the descriptor, because the path may lead to another file by now.
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int result;
    do result = open(path, O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
    while (result < 0 && errno == EINTR);
    return result;
}
#else
int mako_process_barrier(void) { return -1; }
int mako_allocate(int descriptor, int64_t start, int64_t count) {
    (void)descriptor, (void)start, (void)count;
    return MAKO_NO_SUCH_ALLOCATION;
}
int mako_share_blocks(int descriptor, int source) {
    (void)descriptor, (void)source;
    return -1;
}
int mako_open_direct(int descriptor) {
    (void)descriptor;
    return -1;
}
void mako_start_writing(int descriptor, int64_t offset, int64_t count) {
    (void)descriptor;
    (void)offset;
    (void)count;
}
#if defined(__APPLE__)
#include <fcntl.h>
void mako_start_reading(int descriptor, int64_t offset, int64_t count) {
    struct radvisory range = {.ra_offset = offset, .ra_count = (int)count};
    (void)fcntl(descriptor, F_RDADVISE, &range);
}
#else
void mako_start_reading(int descriptor, int64_t offset, int64_t count) {
    (void)descriptor;
    (void)offset;
    (void)count;
}
#endif
#endif

#if defined(__APPLE__)
#include <errno.h>
#include <fcntl.h>
#include <sys/clonefile.h>
#include <sys/stat.h>
#include <unistd.h>
#if __has_include(<sys/xattr.h>)
#include <sys/xattr.h>
#else
int fsetxattr(int, const char *, const void *, size_t, uint32_t, int);
int fremovexattr(int, const char *, int);
#endif

static int mako_is_unknown(int code) { return code == ENOTSUP || code == EINVAL || code == ENOTTY || code == ENOSYS; }

int mako_clone(int source, const char *path) { return fclonefileat(source, AT_FDCWD, path, CLONE_NOOWNERCOPY); }

static int mako_preallocate(int descriptor, int64_t count, unsigned int flags) {
    fstore_t room = {.fst_flags = flags, .fst_posmode = F_PEOFPOSMODE, .fst_offset = 0, .fst_length = count};
    int result;
    do result = fcntl(descriptor, F_PREALLOCATE, &room);
    while (result == -1 && errno == EINTR);
    return result;
}

int mako_extend(int descriptor, int64_t size) {
    struct stat information;
    if (fstat(descriptor, &information) != 0) return -1;
    int64_t more = size - information.st_size;
    if (more <= 0) return 0;
    // Try a contiguous allocation first.
    if (mako_preallocate(descriptor, more, F_ALLOCATECONTIG | F_ALLOCATEALL) == -1 &&
        mako_preallocate(descriptor, more, F_ALLOCATEALL) == -1)
        return mako_is_unknown(errno) ? MAKO_NO_SUCH_ALLOCATION : -1;
    int result;
    do result = ftruncate(descriptor, size);
    while (result != 0 && errno == EINTR);
    return result;
}

int mako_set_protection(int descriptor, int protection) {
    int result;
    do result = fcntl(descriptor, F_SETPROTECTIONCLASS, protection);
    while (result == -1 && errno == EINTR);
    return result == -1 && !mako_is_unknown(errno) ? -1 : 0;
}

/// The text "com.apple.backupd" as a binary property list.
static const unsigned char mako_backup_mark[61] = {
    'b', 'p', 'l', 'i', 's', 't', '0', '0', 0x5f, 0x10, 0x11, 'c', 'o', 'm', '.', 'a', 'p', 'p', 'l', 'e', '.', 'b',
    'a', 'c', 'k', 'u', 'p', 'd', 8, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0x1c};

int mako_exclude_from_backup(int descriptor, int excluded) {
    static const char name[] = "com.apple.metadata:com_apple_backup_excludeItem";
    int result;
    do result = excluded ? fsetxattr(descriptor, name, mako_backup_mark, sizeof mako_backup_mark, 0, 0)
                         : fremovexattr(descriptor, name, 0);
    while (result != 0 && errno == EINTR);
    return result != 0 && !mako_is_unknown(errno) && errno != ENOATTR ? -1 : 0;
}
#else
int mako_clone(int source, const char *path) {
    (void)source, (void)path;
    return -1;
}
int mako_extend(int descriptor, int64_t size) {
    (void)descriptor, (void)size;
    return MAKO_NO_SUCH_ALLOCATION;
}
int mako_set_protection(int descriptor, int protection) {
    (void)descriptor, (void)protection;
    return 0;
}
int mako_exclude_from_backup(int descriptor, int excluded) {
    (void)descriptor, (void)excluded;
    return 0;
}
#endif

// Open file description locks: closing another descriptor of the file does not release them, two of one process exclude
// each other, and the kernel releases those of a dead process.
#if defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#if !defined(F_OFD_SETLK)
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#endif
#endif

#if defined(F_OFD_SETLK)
#include <errno.h>

int mako_lock_byte(int descriptor, int64_t place, int exclusive) {
    struct flock lock = {.l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
    while (fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EACCES) return 0;
        if (errno == EINVAL || errno == ENOLCK || errno == ENOSYS || errno == ENOTSUP) return MAKO_NO_SUCH_LOCKS;
        return -1;
    }
    return 1;
}

int mako_find_lock(int descriptor, int64_t from, int64_t to, int64_t *first, int64_t *last) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from + 1};
    while (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) {
        if (errno == EINTR) continue;
        if (errno == EINVAL || errno == ENOLCK || errno == ENOSYS || errno == ENOTSUP) return MAKO_NO_SUCH_LOCKS;
        return -1;
    }
    if (lock.l_type == F_UNLCK) return 0;
    *first = lock.l_start < from ? from : lock.l_start;
    *last = lock.l_len == 0 || lock.l_start + lock.l_len - 1 > to ? to : lock.l_start + lock.l_len - 1;
    return 1;
}

void mako_unlock_bytes(int descriptor, int64_t place, int64_t count) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = count};
    while (fcntl(descriptor, F_OFD_SETLK, &lock) != 0 && errno == EINTR) continue;
}
#else
int mako_lock_byte(int descriptor, int64_t place, int exclusive) {
    (void)descriptor, (void)place, (void)exclusive;
    return MAKO_NO_SUCH_LOCKS;
}

int mako_find_lock(int descriptor, int64_t from, int64_t to, int64_t *first, int64_t *last) {
    (void)descriptor, (void)from, (void)to, (void)first, (void)last;
    return MAKO_NO_SUCH_LOCKS;
}

void mako_unlock_bytes(int descriptor, int64_t place, int64_t count) {
    (void)descriptor, (void)place, (void)count;
}
#endif

#include <pthread.h>
#include <string.h>

static void mako_count_fork(void) {
    __atomic_fetch_add(&mako_forks, 1, __ATOMIC_RELAXED);
    // The old cells belong to threads that the child does not have; its thread must claim another one.
    mako_set_thread_cell(0);
}

#define MAKO_FORK_LOCKS 16
static pthread_mutex_t *mako_fork_locks[MAKO_FORK_LOCKS];
static int mako_fork_lock_count = 0;
static pthread_mutex_t mako_fork_list = PTHREAD_MUTEX_INITIALIZER;

void mako_hold_during_forks(pthread_mutex_t *mutex) {
    pthread_mutex_lock(&mako_fork_list);
    if (mako_fork_lock_count < MAKO_FORK_LOCKS) mako_fork_locks[mako_fork_lock_count++] = mutex;
    pthread_mutex_unlock(&mako_fork_list);
}

static void mako_begin_fork(void) {
    pthread_mutex_lock(&mako_fork_list);
    for (int i = 0; i < mako_fork_lock_count; i++) pthread_mutex_lock(mako_fork_locks[i]);
}

static void mako_end_fork(void) {
    for (int i = mako_fork_lock_count; i-- > 0;) pthread_mutex_unlock(mako_fork_locks[i]);
    pthread_mutex_unlock(&mako_fork_list);
}

static void mako_begin_child(void) {
    mako_end_fork();
    mako_count_fork();
}

__attribute__((constructor)) static void mako_watch_forks(void) {
    (void)pthread_atfork(mako_begin_fork, mako_end_fork, mako_begin_child);
}

void mako_forget(void *memory, uint64_t count) {
    memset(memory, 0, count);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/// Not atomic: between the two steps the file has both names. As the rename, `link` fails if the name is taken.
static int mako_link_and_unlink(const char *from, const char *to) {
    if (link(from, to) != 0) {
        int code = errno;
        if (code == EPERM || code == ENOSYS || code == EOPNOTSUPP || code == EMLINK) return MAKO_NO_SUCH_RENAMING;
        return -1;
    }
    return unlink(from);
}

int mako_rename_exclusively(const char *from, const char *to) {
#if defined(__linux__) && defined(SYS_renameat2) && defined(RENAME_NOREPLACE)
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
#elif defined(__APPLE__) && defined(RENAME_EXCL)
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#endif
    return mako_link_and_unlink(from, to);
}

// The lowest address of the calling thread's stack; 1 if the system does not report it.
static _Thread_local uintptr_t mako_stack_end = 0;

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
static uintptr_t mako_find_stack_end(void) {
#if defined(__APPLE__)
    pthread_t self = pthread_self();
    return (uintptr_t)pthread_get_stackaddr_np(self) - pthread_get_stacksize_np(self);
#else
    pthread_attr_t attributes;
    void *end = 0;
    size_t size = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
    int code = pthread_attr_getstack(&attributes, &end, &size);
    (void)pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    return code == 0 && end ? (uintptr_t)end + guard : 1;
#endif
}
#else
static uintptr_t mako_find_stack_end(void) { return 1; }
#endif

uint64_t mako_stack_room(void) {
    char here;
    if (mako_stack_end == 0) mako_stack_end = mako_find_stack_end();
    uintptr_t place = (uintptr_t)&here;
    return place > mako_stack_end ? place - mako_stack_end : 0;
}

#if defined(__APPLE__)
#include <TargetConditionals.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#if TARGET_OS_IPHONE && !TARGET_OS_MACCATALYST && __has_include(<os/proc.h>)
#define MAKO_APPS_HAVE_LIMITS 1
#include <os/proc.h>
#endif
#endif

uint64_t mako_available_memory(void) {
#if defined(MAKO_APPS_HAVE_LIMITS)
    size_t available = os_proc_available_memory();
    if (available > 0) return available;
#endif
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && bytes > 0) return (uint64_t)pages * (uint64_t)bytes;
#endif
    return 0;
}

int mako_is_extension_path(const char *path) { return strstr(path, ".appex/") != 0; }

int mako_is_app_extension(void) {
#if defined(__APPLE__)
    char path[4096];
    uint32_t count = sizeof path;
    return _NSGetExecutablePath(path, &count) == 0 && mako_is_extension_path(path);
#else
    return 0;
#endif
}

// Large stacks. A call switches to one and back, on the same thread, so thread-local state does not change.

#if (defined(__x86_64__) || defined(__aarch64__)) && (defined(__linux__) || defined(__APPLE__))
#include <sys/mman.h>

#define MAKO_STACK_BYTES ((size_t)16 << 20)
/// The size of the unmapped guard at the end, which stops an overflow. A multiple of every system's page size.
#define MAKO_STACK_GUARD ((size_t)64 << 10)
/// The bytes of an unused stack that stay in memory.
#define MAKO_STACK_KEPT ((size_t)256 << 10)
#define MAKO_SPARE_STACKS 4
static void *mako_spare_stacks[MAKO_SPARE_STACKS];

#if defined(__APPLE__)
#define MAKO_SWITCH_STACK "_mako_switch_stack"
#define MAKO_SWITCH_STACK_SCOPE ".private_extern _mako_switch_stack\n"
#else
#define MAKO_SWITCH_STACK "mako_switch_stack"
#define MAKO_SWITCH_STACK_SCOPE ".hidden mako_switch_stack\n.type mako_switch_stack, %function\n"
#endif

/// Calls `body(context)` with the stack pointer at `top`. The call frame information leads unwinders back to the caller's
/// stack, because those that run in the process would otherwise read beyond the end of the large stack.
extern void mako_switch_stack(void *context, void (*body)(void *), void *top);
__asm__(".text\n"
        ".globl " MAKO_SWITCH_STACK "\n" MAKO_SWITCH_STACK_SCOPE
        ".p2align 4\n" MAKO_SWITCH_STACK ":\n"
        ".cfi_startproc\n"
#if defined(__x86_64__)
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %rdx, %rsp\n"
        "callq *%rsi\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "retq\n"
#else
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset w30, -8\n"
        ".cfi_offset w29, -16\n"
        "mov x29, sp\n"
        ".cfi_def_cfa w29, 16\n"
        "mov sp, x2\n"
        "blr x1\n"
        "mov sp, x29\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa sp, 0\n"
        "ret\n"
#endif
        ".cfi_endproc\n");

static char *mako_take_stack(void) {
    for (int i = 0; i < MAKO_SPARE_STACKS; i++) {
        char *spare = __atomic_exchange_n(&mako_spare_stacks[i], (void *)0, __ATOMIC_ACQUIRE);
        if (spare) return spare;
    }
    char *stack = mmap(0, MAKO_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (stack == MAP_FAILED) return 0;
    if (mprotect(stack, MAKO_STACK_GUARD, PROT_NONE) == 0) return stack;
    munmap(stack, MAKO_STACK_BYTES);
    return 0;
}

static void mako_give_stack(char *stack) {
    size_t rest = MAKO_STACK_BYTES - MAKO_STACK_GUARD - MAKO_STACK_KEPT;
#if defined(__APPLE__)
    (void)madvise(stack + MAKO_STACK_GUARD, rest, MADV_FREE);
#else
    (void)madvise(stack + MAKO_STACK_GUARD, rest, MADV_DONTNEED);
#endif
    for (int i = 0; i < MAKO_SPARE_STACKS; i++) {
        void *none = 0;
        if (__atomic_compare_exchange_n(
                &mako_spare_stacks[i], &none, (void *)stack, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return;
    }
    munmap(stack, MAKO_STACK_BYTES);
}

int mako_call_on_large_stack(void (*body)(void *), void *context) {
    char *stack = mako_take_stack();
    if (!stack) return -1;
    uintptr_t end = mako_stack_end;
    mako_stack_end = (uintptr_t)stack + MAKO_STACK_GUARD;
    mako_switch_stack(context, body, stack + MAKO_STACK_BYTES);
    mako_stack_end = end;
    mako_give_stack(stack);
    return 0;
}
#else
int mako_call_on_large_stack(void (*body)(void *), void *context) {
    (void)body;
    (void)context;
    return -1;
}
#endif
