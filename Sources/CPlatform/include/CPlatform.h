// The three things Swift cannot say: prefetch a cache line, keep a pointer per thread, and ask the kernel
// for a process-wide memory barrier. Everything is inline so that a call costs nothing on the read path.
#pragma once
#include <stdint.h>

static inline void mako_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// The calling thread's epoch cell, or null before its first use.
extern _Thread_local void *mako_thread_cell;
static inline void *mako_get_thread_cell(void) { return mako_thread_cell; }
static inline void mako_set_thread_cell(void *cell) { mako_thread_cell = cell; }

/// Makes every running thread of the process pass a full memory barrier.
/// Returns 0 when it did, -1 when the platform cannot: readers must then fence for themselves.
int mako_process_barrier(void);
