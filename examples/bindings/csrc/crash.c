/* An extension of SQLite with a defect: the function crash(address) of SQL reads memory at any address. */
#include <sqlite3ext.h>
#include <stddef.h>
#include <stdint.h>
SQLITE_EXTENSION_INIT1

static void crash(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  sqlite3_result_int(context, *(volatile int *)(intptr_t)sqlite3_value_int64(values[0]));
}

__attribute__((visibility("default"))) int sqlite3_crash_init(sqlite3 *db, char **error,
                                                              const sqlite3_api_routines *api) {
  (void)error;
  SQLITE_EXTENSION_INIT2(api);
  return sqlite3_create_function(db, "crash", 1, SQLITE_UTF8, NULL, crash, NULL, NULL);
}
