// Calls every function of CPlatform and prints what comes of it, the same on every processor: `scripts/check-platforms` runs it for this
// one and for arm64. Its argument is a folder for files.
#include "CPlatform.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// The Swift runtime is not linked.
static int counted;
void *swift_unownedRetain(void *object) { return counted++, object; }
void swift_unownedRelease(void *object) { (void)object, counted--; }
void *swift_tryRetain(void *object) { return object; }
_Bool swift_isDeallocating(void *object) { return object == 0; }
void *swift_retain_n(void *object, uint32_t references) { return counted += (int)references, object; }
void swift_release_n(void *object, uint32_t references) { (void)object, counted -= (int)references; }

static uint64_t state = 0x9e3779b97f4a7c15;
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void interpolate(void) {
    uint64_t sum = 0;
    for (int i = 0; i < 1000000; i++) {
        uint64_t span = next() >> (next() & 63);
        uint64_t distance = span == 0 ? 0 : next() % span;
        sum = mako_settled(sum * 31 + (uint64_t)mako_interpolate(distance, span, (int64_t)(next() >> 52)));
    }
    printf("interpolate %016llx, ends %lld %lld\n", (unsigned long long)sum,
        (long long)mako_interpolate(UINT64_MAX, UINT64_MAX, 100), (long long)mako_interpolate(0, 0, 100));
}

static void *other_thread(void *cell) {
    int isEmpty = !mako_get_thread_cell() && !mako_get_thread_scope() && !mako_get_cancellation()
        && !mako_get_release_level() && !mako_get_release_list();
    mako_set_thread_cell(cell);
    mako_set_thread_scope(cell);
    mako_set_cancellation(cell);
    mako_set_release_level(7);
    mako_set_release_list(cell);
    mako_pause();
    int isKept = mako_get_thread_cell() == cell && mako_get_thread_scope() == cell && mako_get_cancellation() == cell
        && mako_get_release_level() == 7 && mako_get_release_list() == cell;
    // A thread's stack is measured, and shrinks with each call.
    uint64_t room = mako_stack_room();
    printf("thread: empty %d, kept %d, stack known %d\n", isEmpty, isKept, room > 1 << 14 && room < 1 << 30);
    return cell;
}

static void threads(void) {
    pthread_t thread;
    void *answer = 0;
    pthread_create(&thread, 0, other_thread, &thread);
    pthread_join(thread, &answer);
    printf("threads: answer %d, own cell %d\n", answer == &thread, mako_get_thread_cell() == 0);
    // An emulator may have no barrier: where it is said to work it does.
    printf("barrier: %d\n", !mako_process_barrier_works() || mako_process_barrier() == 0);
    fflush(stdout);
    uint32_t before = mako_process_generation();
    pid_t child = fork();
    if (child == 0) _exit((int)(mako_process_generation() - before));
    int status = 0;
    waitpid(child, &status, 0);
    printf("fork: %d in the child, %d here\n", WEXITSTATUS(status), (int)(mako_process_generation() - before));
}

static void objects(void) {
    int object = 0;
    char *first = (char *)mako_object_locks;
    int isInside = 1, places = 0;
    for (uintptr_t address = 0; address < 1 << 20; address += 16) {
        char *lock = mako_object_lock((void *)address);
        isInside &= lock >= first && lock < first + sizeof mako_object_locks && (lock - first) % 16 == 0;
        places += lock == first;
    }
    mako_hold_memory(&object);
    mako_retain(&object, 5);
    mako_release(&object, 2);
    mako_release_memory(&object);
    printf("objects: inside %d, at the first %d, counted %d, alive %d %d\n", isInside, places, counted,
        mako_try_retain(&object) == &object, !mako_has_ended(&object));
    char secret[100];
    memset(secret, 'x', sizeof secret);
    mako_forget(secret, sizeof secret);
    int left = 0;
    for (int i = 0; i < 100; i++) left += secret[i] != 0;
    mako_prefetch(secret);
    printf("forgotten: %d bytes left\n", left);
}

static void files(const char *folder) {
    char one[512], two[512];
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(two, sizeof two, "%s/two", folder);
    unlink(one), unlink(two);
    int first = open(one, O_RDWR | O_CREAT, 0644), second = open(one, O_RDWR), reader = open(one, O_RDONLY);
    int64_t place = (int64_t)1 << 62, from = 0, to = 0;
    int shared = mako_lock_byte(first, place + 5, 0), further = mako_lock_byte(first, place + 9, 0);
    int exclusive = mako_lock_byte(second, place - 1, 1), refused = mako_lock_byte(first, place - 1, 1);
    int readers = mako_lock_byte(reader, place + 1, 0), writers = mako_lock_byte(reader, place + 2, 1);
    printf("locks: %d %d %d %d, on a file to read %d %d\n", shared, further, exclusive, refused, readers, writers);
    close(reader);
    int found = mako_find_lock(second, place, INT64_MAX - 1, &from, &to);
    printf("found: %d at %lld to %lld\n", found, (long long)(from - place), (long long)(to - place));
    mako_unlock_bytes(first, place + 5, 1);
    found = mako_find_lock(second, place, INT64_MAX - 1, &from, &to);
    printf("one unlocked: %d at %lld to %lld\n", found, (long long)(from - place), (long long)(to - place));
    mako_unlock_bytes(first, 0, 0);
    printf("unlocked: %d\n", mako_find_lock(second, place, INT64_MAX - 1, &from, &to));
    mako_start_writing(first, 0, 4096);
    mako_start_reading(first, 0, 4096);
    int direct = mako_open_direct(first);
    if (direct >= 0) close(direct);
    (void)mako_share_blocks(first, second);
    int renamed = mako_rename_exclusively(one, two);
    int made = open(one, O_RDWR | O_CREAT, 0644);
    int taken = mako_rename_exclusively(one, two);
    printf("renamed: %d, taken: %d %d\n", renamed, taken, errno == EEXIST);
    close(first), close(second), close(made), unlink(one), unlink(two);
}

int main(int count, char **arguments) {
    interpolate();
    threads();
    objects();
    files(count > 1 ? arguments[1] : ".");
    return 0;
}
