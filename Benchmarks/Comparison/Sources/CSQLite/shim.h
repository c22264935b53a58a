#include <sqlite3.h>

// sqlite3_config is variadic, which Swift cannot call.
static inline int comparison_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

// The bytes that malloc has allocated and that are not freed.
static inline unsigned long long comparison_allocated_bytes(void) {
#ifdef __APPLE__
    malloc_statistics_t statistics;
    malloc_zone_statistics(0, &statistics);
    return statistics.size_in_use;
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}
