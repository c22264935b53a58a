// What Swift cannot say, or says in more instructions than a lookup can spare: prefetch a cache line, keep a
// pointer per thread, ask the kernel for a process-wide memory barrier, interpolate without overflow checks.
// Everything on the read path is inline.
#pragma once
#include <stdint.h>

static inline void mako_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// The calling thread's epoch cell, or null before its first use.
extern _Thread_local void *mako_thread_cell;
static inline void *mako_get_thread_cell(void) { return mako_thread_cell; }
static inline void mako_set_thread_cell(void *cell) { mako_thread_cell = cell; }

/// Whether `mako_process_barrier` works here. Set before main begins; where it is 0 readers fence for themselves.
extern int mako_has_process_barrier;
static inline int mako_process_barrier_works(void) { return mako_has_process_barrier; }

/// Makes every running thread of the process pass a full memory barrier. Returns 0 when it did.
int mako_process_barrier(void);

/// `distance / span * last`, roughly: where in 0...last a key lies that is `distance` behind the first of a run
/// that spans `span`. The error is for the caller to mend.
static inline int64_t mako_interpolate(uint64_t distance, uint64_t span, int64_t last) {
    return (int64_t)((double)(int64_t)(distance >> 1) / (double)(int64_t)((span >> 1) | 1) * (double)last);
}

/// Begins writing a range of a file that lies in the page cache. A hint.
void mako_start_writing(int descriptor, int64_t offset, int64_t count);
