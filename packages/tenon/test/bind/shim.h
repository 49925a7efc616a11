#include <complex.h>
#include <errno.h>
#include <stdint.h>

typedef struct pair { int32_t a; double b; } pair;
typedef union number { int64_t whole; double real; } number;
struct flags { unsigned low : 4; unsigned high : 12; };

int library_count(void);
extern int library_level;
/** Converts a number from one member to another. */
number convert(number n);
struct flags swap(struct flags f, int times);
long double scale(long double x, double by);
float _Complex turn(float _Complex z);
int sum_wide(int count, long double first, ...);
int gone(int x);

static int add_one(int x) { return x + 1; }
/** Twice a number. */
static inline int twice(int x) { return add_one(x) + x - 1; }
static inline pair mirror(pair p) { pair q = { -p.a, -p.b }; return q; }
static inline const char *name_of(const char *text) { return text[0] ? text + 1 : 0; }
static inline int apply(int (*function)(int, void *), void *data) { return function(20, data) + library_count(); }
static inline long double widen(double x) { return x; }
static inline double narrow(long double x) { return (double)x; }
static inline int needs_gone(int x) { return gone(x); }
static inline void set_level(int level) { library_level = level; }
#define twice(x) no_such_function(x)

/** The level of the library. */
#define LEVEL (library_level)
#define TITLE ((const char *)(library_level > 5 ? "high" : "low"))
#define LAST_ERROR errno
#define RATIO (library_level / 4.0)
#define PLACE (&library_level)
#define BROKEN (needs_gone(1))
#define READ_U16(p) ((uint16_t)(((const uint8_t *)(p))[0] << 8 | ((const uint8_t *)(p))[1]))
#define CLEAR(p) (*(p) = 0)
