#include "store.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store { int values[4]; int count; int cursors; int is_stuck; const char *error; };
struct cursor { store *store; int next; };
struct report { int code; };
static int live, freed, early, last;
int store_count = 3;
static visit kept;

int store_open(const char *path, store **out) {
  *out = calloc(1, sizeof **out);
  live++;
  (*out)->is_stuck = strcmp(path, "stuck") == 0;
  if (strcmp(path, "bad") != 0) return STORE_OK;
  (*out)->error = "the path is bad";
  return STORE_BAD;
}
int store_close(store *store) {
  int status = store->is_stuck ? STORE_BAD : STORE_OK;
  early += store->cursors > 0;
  last = store->count;
  live--;
  free(store);
  return status;
}
int store_last(void) { return last; }
int store_finish(store *store, uint8_t code, const char *reason, const int *values) {
  store_close(store);
  return code + (int)strlen(reason) + (values ? values[0] : 0);
}
int store_destroy(store *store) { live--; free(store); return 7; }
struct box { int value; };
box *box_new(int value) { box *made = malloc(sizeof *made); made->value = value; live++; return made; }
int box_value(const box *box) { return box->value; }
void box_free(box **box, void *reserved, int flags) {
  if (box == NULL || *box == NULL || reserved != NULL || flags != 0) return;
  live--;
  free(*box);
  *box = NULL;
}
static box first = { 1 }, second = { 2 };
box *box_static(void) { return &first; }
int box_step(box **at) { int value = (*at)->value; *at = *at == &first ? &second : NULL; return value; }
const char *store_message(store *db) { return db->error ? db->error : "no error"; }
const char *store_explain(int status) { return status == STORE_FULL ? "it is full" : "unknown"; }
int store_add(store *store, int value) {
  if (store->count == 4) { store->error = "there are 4 values"; return STORE_FULL; }
  store->values[store->count++] = value;
  return STORE_OK;
}
int store_early(void) { return early; }
int store_live(void) { return live; }
store *store_default(bool exists) { if (!exists) return NULL; live++; return calloc(1, sizeof(store)); }
int store_each(store *store, visit function, void *data) {
  int total = 0;
  for (int i = 0; i < store->count; i++) total += function(store->values[i], data);
  return total;
}
void store_keep(visit function) { kept = function; }
int store_call_kept(int value) { return kept(value, NULL); }

int cursor_open(store *store, const char *query, int length, cursor **out, const char **tail) {
  if (tail != NULL || length != (int)strlen(query)) { store->error = "the arguments are wrong"; return STORE_BAD; }
  if (strcmp(query, "wrong") == 0) { store->error = "the query is wrong"; return STORE_BAD; }
  *out = malloc(sizeof **out);
  **out = (cursor){ store, 0 };
  store->cursors++;
  live++;
  return STORE_OK;
}
int cursor_open_nullable(store *store, cursor **out) {
  if (store->count == 0) { *out = NULL; return STORE_OK; }
  return cursor_open(store, "", 0, out, NULL);
}
void cursor_close(cursor *cursor) { cursor->store->cursors--; live--; free(cursor); }
int cursor_next(cursor *cursor, int64_t *value, double *weight) {
  if (cursor->next == cursor->store->count) return STORE_OK;
  *value = cursor->store->values[cursor->next++];
  *weight = *value / 2.0;
  return STORE_ROW;
}
int cursor_read(cursor *cursor, int *value) {
  if (cursor->next == cursor->store->count) return STORE_END;
  *value = cursor->store->values[cursor->next++];
  return STORE_OK;
}
int cursor_skip(cursor *cursor) { int value; return cursor_read(cursor, &value); }
int cursor_fail(cursor *cursor) { cursor->store->error = "the cursor failed"; return STORE_BAD; }

char *text_copy(const char *text) { return text ? strdup(text) : NULL; }
void text_free(void *text) { freed++; free(text); }
int text_freed(void) { return freed; }
const unsigned char *text_bytes(int which) { return which ? (const unsigned char *)"gr\xc3\xbcn" : NULL; }
int text_length(const unsigned char *text) { return (int)strlen((const char *)text); }
const char *text_of_length(int *length) { *length = 3; return "abcdef"; }
const int *numbers_of_length(size_t *length) { static const int numbers[] = { 4, 5, 6 }; *length = 3; return numbers; }
int join(const char **texts, int count, char *out, size_t size) {
  size_t at = 0;
  for (int i = 0; i < count; i++) at += snprintf(out + at, size - at, "%s;", texts[i] ? texts[i] : "-");
  return texts && texts[count] == NULL ? (int)at : -1;
}
const char *skip_first(const char *text) { return text + 1; }
int find_second(const char *text, const char **out) { if (out) *out = text + 1; return STORE_OK; }
int find_text(const char *text, const char **out) { *out = *text ? "found" : NULL; return STORE_OK; }

int sum(const int *values, int count) { int total = 0; for (int i = 0; i < count; i++) total += values[i]; return total; }
int read_into(void *memory, size_t size, int with) { memset(memory, with, size); return (int)size; }
int divide(int value, int by, int *quotient, int *rest) {
  if (by == 0) return STORE_BAD;
  *quotient = value / by;
  *rest = value % by;
  return STORE_OK;
}
int grow(int *value) { *value *= 3; return *value; }
int fill_some(int *values, size_t *count) { size_t room = *count; for (size_t i = 0; i < room && i < 2; i++) values[i] = 9; *count = 2; return (int)room; }
extent extent_of(const double *values, size_t count) {
  extent e = { INFINITY, -INFINITY };
  for (size_t i = 0; i < count; i++) { e.low = fmin(e.low, values[i]); e.high = fmax(e.high, values[i]); }
  return e;
}
int extent_read(const double *values, size_t count, extent *out) { *out = extent_of(values, count); return count ? STORE_OK : STORE_BAD; }
int total(store **stores, int count) { int n = 0; for (int i = 0; i < count; i++) n += stores[i] ? stores[i]->count : 100; return n; }
int visit_all(store **stores, int count, visit function) { function(count, NULL); return total(stores, count); }
int squares(int count, int64_t *out) { for (int i = 0; i < count; i++) out[i] = (int64_t)i * i; return STORE_OK; }
int open_many(const char **names, int count, store **out) {
  for (int i = 0; i < count; i++) if (store_open(names[i], out + i) != STORE_OK) return STORE_BAD;
  return STORE_OK;
}
int64_t large(bool is_too_large) { return is_too_large ? INT64_MAX : 1LL << 40; }
uint64_t read_flags(uint64_t *out) { *out = UINT64_MAX; return 6; }
int set_errno(int value) { errno = value; return value ? -1 : 0; }
int needs_pointer(const int *value) { return *value; }
int mark(const char *text, void (*release)(void *), uint8_t flags, double ratio, bool deep) {
  return release == STORE_COPY && deep ? flags + (int)(ratio * 100) + (int)strlen(text) : -1;
}
static const char *text_kept;
const char *keep_text(const char *text) { return text_kept = text; }
const char *kept_text(void) { return text_kept; }
int nested(int depth, visit function, int *out) { *out = depth; int inner = depth ? function(depth - 1, NULL) : 0; return *out == depth ? inner : -1000; }
const char *maybe(bool exists) { return exists ? "there" : NULL; }

static failure failed = { 3, "the third failure" };
int last_failed(int with) { return with; }
const failure *last_failure(void) { return &failed; }

static const char *report_message(const struct report *report) { return report->code == 2 ? "two is refused" : "failed"; }
static int report_code(const struct report *report) { return report->code; }
static void report_release(struct report *report) { live--; free(report); }
static struct report *report_new(int code) { struct report *r = malloc(sizeof *r); r->code = code; live++; return r; }
static struct report *api_make(int value, store **out) {
  if (value == 2) return report_new(2);
  store_open("x", out);
  store_add(*out, value);
  return NULL;
}
static struct report *api_put(store *store, int value) { return store_add(store, value) == STORE_OK ? NULL : report_new(4); }
static void api_close(store *store) { store_close(store); }
static int api_twice(int value) { return 2 * value; }
static int api_thrice(int value) { return 3 * value; }
static api the_api = { 1, report_message, report_code, report_release, api_make, api_put, api_close, api_twice, NULL };
const api *get_api(void) { return &the_api; }
void set_twice(bool thrice) { the_api.twice = thrice ? api_thrice : api_twice; }
int call_twice(const api *table, int value) { return table->twice(value); }

int call_at(void *function, int value) {
  int (*call)(int);
  memcpy(&call, &function, sizeof call);
  return call(value);
}
