#include <sqlite3.h>

// sqlite3_config is variadic, which Swift cannot call.
static inline int comparison_disable_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
