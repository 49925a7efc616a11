#include "../store.c"
#include <pthread.h>
#include <unistd.h>
#include <stdarg.h>
typedef struct flags { bool on; int value; char name[8]; const char *text; } flags;
int attack_count = 5; store *attack_store;
int sum_slow(const int *values, int count, int ms) { int t = 0; for (int r = 0; r < ms; r++) { usleep(1000); for (int i = 0; i < count; i++) t += ((volatile const int*)values)[i]; } return t; }
int lookup(const int *keys, int count, int *out) { for (int i = 0; i < count; i++) out[i] = keys[i] * 2; return 0; }
int open_slow(store *store, int ms, cursor **out) { usleep(ms * 1000); return cursor_open(store, "", 0, out, NULL); }
const char *text_at(uint64_t a) { return (const char *)a; }
const char *text_long(int n) { char *t = malloc(n + 1); memset(t, 'x', n); t[n] = 0; return t; }
const char *text_huge(size_t *n) { *n = (size_t)-1; return "abc"; }
const int *numbers_huge(uint64_t *n) { static int x[4]; *n = 1ull << 61; return x; }
bool bool_of(int v) { union { unsigned char c; bool b; } u; u.c = v; return u.b; }
int fill_out(int64_t *o) { *o = INT64_MIN; return 0; }
int flags_sum(flags f) { return f.value + f.on; }
flags flags_make(int v) { flags f = { 0 }; f.value = v; memset(&f.on, 0xff, 1); memset(f.name, 'x', 8); f.text = (char *)8; return f; }
int flags_read(const flags *f) { return f->value; }
int format(char *b, size_t n, const char *f, ...) { va_list l; va_start(l, f); int r = vsnprintf(b, n, f, l); va_end(l); return r; }
int text_size(const char *t) { return t ? (int)strlen(t) : -1; }
int texts_size(const char *a, const char *b, visit f) { int r = strlen(a) * 1000 + strlen(b); int x = f ? f(1, 0) : 0; return r == strlen(a) * 1000 + strlen(b) ? r + x : -1; }
int slow(int ms) { usleep(ms * 1000); return ms; }
static void *later(void *v) { void **a = v; usleep((long)a[1] * 1000); ((visit)a[0])(7, NULL); free(a); return NULL; }
int call_later(visit f, int ms) { void **a = malloc(16); a[0] = f; a[1] = (void *)(long)ms; pthread_t t; pthread_create(&t, 0, later, a); pthread_detach(t); return 0; }
static void *on(void *v) { long *a = v; a[1] = ((visit)a[0])((int)a[1], NULL); return NULL; }
int call_on_thread(visit f, int value) { long a[2] = { (long)f, value }; pthread_t t; pthread_create(&t, 0, on, a); pthread_join(t, 0); return (int)a[1]; }
int scale(double *v, size_t n, double by) { for (size_t i = 0; i < n; i++) v[i] *= by; return 0; }
store *store_copy(store *of) { live++; store *s = malloc(sizeof *s); *s = *of; return s; }
