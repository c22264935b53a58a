// What Swift cannot express, or not in as few instructions as a lookup needs: prefetch a cache line, keep a pointer for
// each thread, issue a process-wide memory barrier, interpolate without overflow checks, fix the order of computation,
// keep words at fixed addresses, check whether an object has ended, change a reference count by more than one.
// Everything on the read path is inline.
#pragma once
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Mako's files are read and written in the machine's byte order, which must be little-endian: see docs/platforms.md."
#endif

// The C library is another module on each system (Darwin, Glibc, Musl, Android), but its headers have the same names. So
// a file that needs its functions for memory, numbers or threads, or its error codes, imports this module and names no
// system. Only Swift's additions to the C library, above all `errno`, need the system's own module: three files import it.
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Returns `errno`, a macro that Swift cannot import without the system's own module.
static inline int32_t mako_errno(void) { return errno; }

static inline void mako_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// Returns the value, computed before it is used: it fixes the order of evaluation of a sum with several parts.
static inline uint64_t mako_settled(uint64_t value) {
    __asm__("" : "+r"(value));
    return value;
}

/// The calling thread's epoch cell, or null before its first use.
extern _Thread_local void *mako_thread_cell;
static inline void *mako_get_thread_cell(void) { return mako_thread_cell; }
static inline void mako_set_thread_cell(void *cell) { mako_thread_cell = cell; }

/// The scope that runs on the calling thread, or null.
extern _Thread_local void *mako_thread_scope;
static inline void *mako_get_thread_scope(void) { return mako_thread_scope; }
static inline void mako_set_thread_scope(void *scope) { mako_thread_scope = scope; }

/// The cancellation of the calling thread's work, or null.
extern _Thread_local void *mako_cancellation;
static inline void *mako_get_cancellation(void) { return mako_cancellation; }
static inline void mako_set_cancellation(void *cancellation) { mako_cancellation = cancellation; }

/// The nesting depth of ending objects on the calling thread, and the list of objects to release, or null.
extern _Thread_local int32_t mako_release_level;
extern _Thread_local void *mako_release_list;
static inline int32_t mako_get_release_level(void) { return mako_release_level; }
static inline void mako_set_release_level(int32_t level) { mako_release_level = level; }
static inline void *mako_get_release_list(void) { return mako_release_list; }
static inline void mako_set_release_list(void *list) { mako_release_list = list; }

/// Lock words for objects: four to a cache line, so that all of them fit the nearest cache and two threads seldom share
/// a line.
#define MAKO_OBJECT_LOCKS 1024
extern struct mako_object_lock { _Alignas(16) uint32_t word; } mako_object_locks[MAKO_OBJECT_LOCKS];
static inline void *mako_object_lock(const void *object) {
    uintptr_t address = (uintptr_t)object;
    return &mako_object_locks[((address >> 4) ^ (address >> 14)) & (MAKO_OBJECT_LOCKS - 1)];
}

// Reference counts of Swift objects, by functions of the Swift runtime: those that the compiler calls for `unowned` and
// for several references, and those for runtimes of other languages. All platforms export them, Apple's as stable ABI.

/// Keeps the memory of an object allocated until `mako_release_memory`, although the object may end. Its reference
/// counts stay valid.
void mako_hold_memory(void *object);
void mako_release_memory(void *object);

/// Retains an object whose memory is held. Returns null, and retains nothing, if the object has begun to end.
void *mako_try_retain(void *object);

/// Whether an object whose memory is held has begun to end.
_Bool mako_has_ended(void *object);

/// Changes the reference count of an object by several references at once.
void mako_retain(void *object, uint32_t references);
void mako_release(void *object, uint32_t references);

/// Hints to the processor that this is a spin loop.
static inline void mako_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

/// Whether `mako_process_barrier` works here. Set before main begins, and 0 after a barrier that failed; if it is 0, readers
/// must use fences. With MAKO_NO_PROCESS_BARRIER in the environment it is 0 everywhere, for tests of that path.
extern int mako_has_process_barrier;
static inline int mako_process_barrier_works(void) {
    return __atomic_load_n(&mako_has_process_barrier, __ATOMIC_RELAXED);
}
static inline void mako_do_without_process_barrier(void) {
    __atomic_store_n(&mako_has_process_barrier, 0, __ATOMIC_SEQ_CST);
}

/// Issues a full memory barrier on every running thread of the process. Returns 0 on success.
int mako_process_barrier(void);

/// About `distance / span * last`: the estimated position in 0...last of a key at `distance` from the first of a run that
/// spans `span`. The caller must correct the error.
static inline int64_t mako_interpolate(uint64_t distance, uint64_t span, int64_t last) {
    return (int64_t)((double)(int64_t)(distance >> 1) / (double)(int64_t)((span >> 1) | 1) * (double)last);
}

/// Opens another descriptor of an open file whose writes bypass the page cache and are durable when they return. Returns
/// -1 if the system has none.
int mako_open_direct(int descriptor);

/// Starts writing a range of a file from the page cache to the device. A hint.
void mako_start_writing(int descriptor, int64_t offset, int64_t count);

/// Starts reading a range of a file into the page cache. A hint.
void mako_start_reading(int descriptor, int64_t offset, int64_t count);

/// Makes a file share the blocks of another one. Returns 0 on success.
int mako_share_blocks(int descriptor, int source);

/// Creates a file that shares the blocks of another one; fails if the name is taken. Returns 0 on success.
int mako_clone(int source, const char *path);

/// The result of the calls below if the file system cannot allocate.
#define MAKO_NO_SUCH_ALLOCATION -2

/// Allocates space for a range of a file, on Linux; changes no byte of it. Returns 0 on success; -1 and errno otherwise.
int mako_allocate(int descriptor, int64_t start, int64_t count);

/// Extends a file to a size, with allocated space. Returns 0 on success or if it is that long already; -1 and errno
/// otherwise.
int mako_extend(int descriptor, int64_t size);

/// Sets the data protection class of a file, if system and volume support it. Returns 0 on success or without support; -1
/// and errno otherwise.
int mako_set_protection(int descriptor, int protection);

/// Excludes a file from the system's backups, or includes it, if the system supports it. Returns as above.
int mako_exclude_from_backup(int descriptor, int excluded);

/// The result of the two calls below if the system or the file system has no open file description locks.
#define MAKO_NO_SUCH_LOCKS -2

/// Locks one byte of a file, which need not exist, until the descriptor is closed. Returns 1 on success, 0 if another
/// open file has it.
int mako_lock_byte(int descriptor, int64_t place, int exclusive);

/// Finds a lock of another open file on the bytes `from` to `to`. Returns 1 and its range, or 0 if there is none.
int mako_find_lock(int descriptor, int64_t from, int64_t to, int64_t *first, int64_t *last);

/// Releases the locks of `mako_lock_byte` on `count` bytes of this open file, with 0 on all from `place` on.
void mako_unlock_bytes(int descriptor, int64_t place, int64_t count);

/// The number of forks between the program's start and this process. A forked child has one more than its parent.
extern uint32_t mako_forks;
static inline uint32_t mako_process_generation(void) { return __atomic_load_n(&mako_forks, __ATOMIC_RELAXED); }

/// Makes each fork wait for a mutex of the whole process, so that the child finds it free and what it guards complete. No
/// other lock may be acquired under it.
void mako_hold_during_forks(pthread_mutex_t *mutex);

/// The result of the call below if the file system has neither an exclusive rename nor hard links.
#define MAKO_NO_SUCH_RENAMING -2

/// Renames a file unless the new name is taken: -1 and EEXIST then. Returns 0 on success.
int mako_rename_exclusively(const char *from, const char *to);

/// Overwrites memory that held a secret, even if nothing reads it afterwards.
void mako_forget(void *memory, uint64_t count);

/// Returns the free bytes of the calling thread's stack; a very large number if the system does not report it.
uint64_t mako_stack_room(void);

/// Returns the bytes of memory that the process may use: the rest of an app's limit on platforms that have one, else the
/// memory of the machine; 0 if the system does not report it.
uint64_t mako_available_memory(void);

/// Whether the program is an app extension, by the path of its file. Extensions may use only some tens of megabytes.
int mako_is_app_extension(void);
int mako_is_extension_path(const char *path);

/// Calls `body(context)` on the calling thread with another stack, of 16 MiB. Returns -1, and calls nothing, if there is no
/// memory for it, or the processor is neither x86-64 nor arm64.
int mako_call_on_large_stack(void (*body)(void *), void *context);
