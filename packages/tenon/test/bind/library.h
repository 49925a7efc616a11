#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRARY_VERSION "1.2"
#define LIBRARY_LIMIT 0x7fffffffffffffffLL
#define LIBRARY_EVERYTHING ((void *)-1)

/** A point of a plane. */
typedef struct point { double x; double y; } point;
struct tagged { uint8_t kind; unsigned flag : 1; int level : 4; uint64_t wide : 60; char name[8]; point at; union { float real; int32_t whole; }; const char *text; int counts[3]; } ;
struct packed_pair { uint8_t a; uint32_t b; } __attribute__((packed));
enum mode { MODE_OFF, MODE_ON = 3 };
typedef struct counter counter;

uint8_t add_u8(uint8_t a, uint8_t b);
int64_t add_i64(int64_t a, int64_t b);
float add_f32(float a, float b);
bool negate(bool value);
enum mode next_mode(enum mode mode);
point middle(point a, point b);
double length(const point *p);
size_t count(const char *text);
const char *describe(enum mode mode);
double sum(const double *values, size_t count);
void set_bytes(void *memory, int value, size_t size);
typedef int (*compare)(const void *a, const void *b);
void sort_ints(int *values, size_t count, compare by);
int apply(int (*function)(int, point, const char *), int value);
int print_to(char *buffer, size_t size, const char *format, ...);
counter *counter_open(int start);
int counter_next(counter *c);
void counter_close(counter *c);
int is_everything(void *pointer);
int class(int new);
extern int global_count;
extern const char global_name[6];
extern point global_point;
int not_in_the_library(void);
static inline int inlined(int x) { return x; }
