// What Swift cannot say, or says in more instructions than a lookup can spare: prefetch a cache line, keep a
// pointer per thread, ask the kernel for a process-wide memory barrier, interpolate without overflow checks, compute in
// the order that is written, keep words at fixed addresses, ask for an object that may have ended, count many references
// at once.
// Everything on the read path is inline.
#pragma once
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Mako's files are read and written in the machine's byte order, which must be little-endian: see docs/platforms.md."
#endif

// The C library has another module on each system (Darwin, Glibc, Musl, Android), but its headers have one name on all of them. So a
// file that needs its functions of memory, numbers or threads, or its error codes, imports this module and names no system. Only
// what Swift adds to the C library, `errno` before all, needs the system's own module: three files import it.
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The error code of the thread's last call of the C library: a macro, which Swift cannot read without the system's own module.
static inline int32_t mako_errno(void) { return errno; }

static inline void mako_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// The value itself, which the compiler computes before it goes on with it: sums of several parts come in the order that is written.
static inline uint64_t mako_settled(uint64_t value) {
    __asm__("" : "+r"(value));
    return value;
}

/// The calling thread's epoch cell, or null before its first use.
extern _Thread_local void *mako_thread_cell;
static inline void *mako_get_thread_cell(void) { return mako_thread_cell; }
static inline void mako_set_thread_cell(void *cell) { mako_thread_cell = cell; }

/// What runs on the calling thread, or null.
extern _Thread_local void *mako_thread_scope;
static inline void *mako_get_thread_scope(void) { return mako_thread_scope; }
static inline void mako_set_thread_scope(void *scope) { mako_thread_scope = scope; }

/// What cancels the work of the calling thread, or null.
extern _Thread_local void *mako_cancellation;
static inline void *mako_get_cancellation(void) { return mako_cancellation; }
static inline void mako_set_cancellation(void *cancellation) { mako_cancellation = cancellation; }

/// How many objects are ending inside each other on the calling thread, and the list of what waits to be released, or null.
extern _Thread_local int32_t mako_release_level;
extern _Thread_local void *mako_release_list;
static inline int32_t mako_get_release_level(void) { return mako_release_level; }
static inline void mako_set_release_level(int32_t level) { mako_release_level = level; }
static inline void *mako_get_release_list(void) { return mako_release_list; }
static inline void mako_set_release_list(void *list) { mako_release_list = list; }

/// Words that guard objects: four to a cache line, so that all of them stay in the nearest cache and two threads seldom
/// meet on one line.
#define MAKO_OBJECT_LOCKS 1024
extern struct mako_object_lock { _Alignas(16) uint32_t word; } mako_object_locks[MAKO_OBJECT_LOCKS];
static inline void *mako_object_lock(const void *object) {
    uintptr_t address = (uintptr_t)object;
    return &mako_object_locks[((address >> 4) ^ (address >> 14)) & (MAKO_OBJECT_LOCKS - 1)];
}

// Objects of Swift, by functions of its runtime: those that the compiler calls for `unowned` and for several references, and those that
// runtimes of other languages ask. All are exported on every platform, Apple's with their stable interface included.

/// The memory of an object stays allocated until `mako_release_memory`, although the object may end. The object's counts stay in it.
void mako_hold_memory(void *object);
void mako_release_memory(void *object);

/// Counts a reference to an object whose memory is held; null, and none, if the object's end has begun.
void *mako_try_retain(void *object);

/// Whether the end of an object whose memory is held has begun.
_Bool mako_has_ended(void *object);

/// Counts so many references to an object more, or fewer, at once.
void mako_retain(void *object, uint32_t references);
void mako_release(void *object, uint32_t references);

/// Tells the processor that this is a loop that waits.
static inline void mako_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

/// Whether `mako_process_barrier` works here. Set before main begins; where it is 0 readers fence for themselves. With
/// MAKO_NO_PROCESS_BARRIER in the environment it is 0 everywhere, for tests of that path.
extern int mako_has_process_barrier;
static inline int mako_process_barrier_works(void) { return mako_has_process_barrier; }

/// Makes every running thread of the process pass a full memory barrier. Returns 0 when it did.
int mako_process_barrier(void);

/// `distance / span * last`, roughly: where in 0...last a key lies that is `distance` behind the first of a run
/// that spans `span`. The error is for the caller to mend.
static inline int64_t mako_interpolate(uint64_t distance, uint64_t span, int64_t last) {
    return (int64_t)((double)(int64_t)(distance >> 1) / (double)(int64_t)((span >> 1) | 1) * (double)last);
}

/// Another descriptor of an open file, whose writes bypass the page cache and are durable when they return; -1 where there is none.
int mako_open_direct(int descriptor);

/// Begins writing a range of a file that lies in the page cache. A hint.
void mako_start_writing(int descriptor, int64_t offset, int64_t count);

/// Begins reading a range of a file into the page cache. A hint.
void mako_start_reading(int descriptor, int64_t offset, int64_t count);

/// Makes a file share the blocks of another one. Returns 0 when it does.
int mako_share_blocks(int descriptor, int source);

/// Makes a new file that shares the blocks of another one; never in place of a file that has the name. Returns 0 when it did.
int mako_clone(int source, const char *path);

/// What the call below answers where the file system cannot allocate.
#define MAKO_NO_SUCH_ALLOCATION -2

/// Extends a file to a size, with room on the device for all of it. 0: done, or it is as long already; -1 and errno otherwise.
int mako_extend(int descriptor, int64_t size);

/// Gives a file a class of data protection, where the system and the volume know such. 0: done, or not known; -1 and errno otherwise.
int mako_set_protection(int descriptor, int protection);

/// Has the system's backups leave a file out, or not, where the system has such an attribute. Returns as above.
int mako_exclude_from_backup(int descriptor, int excluded);

/// What the two calls below answer where the system or the file system has no locks that belong to an open file.
#define MAKO_NO_SUCH_LOCKS -2

/// Locks one byte of a file, which need not be there, until the descriptor is closed. 1: done; 0: another open file has it.
int mako_lock_byte(int descriptor, int64_t place, int exclusive);

/// Finds a lock of another open file on some of the bytes `from` to `to`. 1: found, and where; 0: there is none.
int mako_find_lock(int descriptor, int64_t from, int64_t to, int64_t *first, int64_t *last);

/// Gives up every lock of `mako_lock_byte` on this open file.
void mako_unlock_bytes(int descriptor);

/// How many forks lie between the program's start and this process. The child of a fork has one more than its parent.
extern uint32_t mako_forks;
static inline uint32_t mako_process_generation(void) { return __atomic_load_n(&mako_forks, __ATOMIC_RELAXED); }

/// What the call below answers where the file system has no such renaming, and no second names either.
#define MAKO_NO_SUCH_RENAMING -2

/// Gives a file another name, unless something has it: -1 and EEXIST then. 0: done.
int mako_rename_exclusively(const char *from, const char *to);

/// Overwrites memory that held a secret, even where nothing reads it afterwards.
void mako_forget(void *memory, uint64_t count);

/// How many bytes of the calling thread's stack are free; very many where the system does not say.
uint64_t mako_stack_room(void);

/// Bytes of memory that the system lets the process take: what is left of an app's limit where apps have one, else the memory of the
/// machine. 0 where the system does not say.
uint64_t mako_available_memory(void);

/// Whether the program is an extension of an app, by the path of its file. Extensions may take a few ten megabytes.
int mako_is_app_extension(void);
int mako_is_extension_path(const char *path);

/// Calls `body(context)` on the calling thread with another stack, of 16 MiB. Returns -1, and calls nothing, where there is no memory for one or
/// the processor's way to change stacks is not known here: it is for x86-64 and arm64.
int mako_call_on_large_stack(void (*body)(void *), void *context);
