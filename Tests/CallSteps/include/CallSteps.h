// Stops a process before each call of the system that opens, creates, locks, renames, removes, cuts or syncs a file.
#pragma once

/// Calls the function before each such call of this process, whatever library makes it, where the file lies below the folder. One call at a time:
/// other threads wait until the function returns. A null function ends that.
///
/// The program that links this has functions of the system's names, which its libraries find before those of the system. Does nothing where
/// `mako_steps_work` answers 0.
void mako_step_calls(const char *folder, void (*step)(const char *operation, const char *path));

/// Whether calls are seen: on Linux, without a sanitizer, which has functions of those names itself.
int mako_steps_work(void);
