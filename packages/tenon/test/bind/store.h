#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_OK, STORE_ROW, STORE_FULL = 5, STORE_BAD, STORE_END = -31 };
#define STORE_COPY ((void (*)(void *))-1)
typedef struct store store;
typedef struct cursor cursor;
typedef struct extent { double low; double high; } extent;
typedef struct failure { int code; const char *text; } failure;
typedef int (*visit)(int value, void *data);

int store_open(const char *path, store **out);
int store_close(store *store);
int store_destroy(store *store);
int store_finish(store *store, uint8_t code, const char *reason, const int *values);
int store_last(void);
extern int store_count;
typedef struct box box;
box *box_new(int value);
int box_value(const box *box);
void box_free(box **box, void *reserved, int flags);
box *box_static(void);
int box_step(box **at);
const char *store_message(store *db);
const char *store_explain(int status);
int store_add(store *store, int value);
int store_live(void);
int store_early(void);
store *store_default(bool exists);
int store_each(store *store, visit function, void *data);
void store_keep(visit function);
int store_call_kept(int value);

int cursor_open(store *store, const char *query, int length, cursor **out, const char **tail);
int cursor_open_nullable(store *store, cursor **out);
void cursor_close(cursor *cursor);
int cursor_next(cursor *cursor, int64_t *value, double *weight);
int cursor_read(cursor *cursor, int *value);
int cursor_skip(cursor *cursor);
int cursor_fail(cursor *cursor);

char *text_copy(const char *text);
void text_free(void *text);
int text_freed(void);
const unsigned char *text_bytes(int which);
int text_length(const unsigned char *text);
const char *text_of_length(int *length);
const int *numbers_of_length(size_t *length);
int join(const char **texts, int count, char *out, size_t size);
const char *skip_first(const char *text);
int find_second(const char *text, const char **out);
int find_text(const char *text, const char **out);

int sum(const int *values, int count);
int read_into(void *memory, size_t size, int with);
int divide(int value, int by, int *quotient, int *rest);
int grow(int *value);
int fill_some(int *values, size_t *count);
extent extent_of(const double *values, size_t count);
int extent_read(const double *values, size_t count, extent *out);
int total(store **stores, int count);
int visit_all(store **stores, int count, visit function);
int squares(int count, int64_t *out);
int open_many(const char **names, int count, store **out);
int64_t large(bool is_too_large);
uint64_t read_flags(uint64_t *out);
/* Calls a function of the type int (int). */
int call_at(void *function, int value);
int set_errno(int value);
int needs_pointer(const int *value);
int mark(const char *text, void (*release)(void *), uint8_t flags, double ratio, bool deep);
const char *keep_text(const char *text);
const char *kept_text(void);
int nested(int depth, visit function, int *out);
const char *maybe(bool exists);

int last_failed(int with);
const failure *last_failure(void);

struct report;
typedef struct api {
  int version;
  const char *(*message)(const struct report *report);
  int (*code)(const struct report *report);
  void (*release)(struct report *report);
  struct report *(*make)(int value, store **out);
  struct report *(*put)(store *store, int value);
  void (*close)(store *store);
  int (*twice)(int value);
  int (*missing)(int value);
} api;
const api *get_api(void);
void set_twice(bool thrice);
int call_twice(const api *api, int value);
