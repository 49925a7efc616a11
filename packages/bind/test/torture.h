/* Layouts that a reader of headers gets wrong. */
#include <stdint.h>
#include <stddef.h>

struct packed { char a; int b; int64_t c; } __attribute__((packed));
struct aligned { char a; int b __attribute__((aligned(32))); } __attribute__((aligned(64)));
#pragma pack(push, 2)
struct by_two { char a; int b; double c; };
#pragma pack(pop)
typedef struct { char name[16]; struct { int x, y; } at; union { float f; uint32_t bits; }; } nested;
struct deep { char c; struct { short s; union { double d; struct { char e; int g; }; }; }; nested list[3]; };
struct empty { int before; int none[0]; struct {} nothing; int after; };
struct flexible { uint32_t count; uint16_t items[]; };
struct bits { unsigned a : 3; int b : 5; unsigned : 0; uint64_t c : 40, d : 24; _Bool e : 1; signed char f : 7; };
struct bits_packed { uint8_t a : 4; uint32_t b : 20; uint8_t c; } __attribute__((packed));
union both { struct { uint8_t low, high; } half; uint16_t whole; };
typedef int matrix[2][3];
struct arrays { matrix m; matrix *p; const char *names[2]; void (*calls[4])(int); };
struct names { int class; int segment; int new; };
enum small { SMALL_A, SMALL_B = -5, SMALL_C };
enum large { LARGE = 0xffffffffu };
typedef enum { WIDE = 0x100000000LL } wide;
struct enums { enum small s; enum large l; wide w; };
enum { LONE = 7 };
struct self { struct self *next; struct later *opaque; };

#define EIGHT 8
#define NEGATIVE (-3L)
#define BIG 18446744073709551615ULL
#define SUM (EIGHT + SMALL_B)
#define CAST ((uint8_t)300)
#define LETTER 'a'
#define REAL 1.5f
#define TINY 1e-300
#define TEXT "two " "parts"
#define PARENTHESES ("text")
#define NOT_UTF8 "\xff\xfe"
#define WIDE_TEXT L"wide"
#define NOWHERE ((void *)-1)
#define NOTHING NULL
#define AT_RUN_TIME (variable + 1)
#define FUNCTION plain
#define A_TYPE unsigned int
#define STATEMENT do { } while (0)
#define UNBALANCED {
#define PARTS 1L, 2L
#define MORE_PARTS PARTS, 3L
#define UNKNOWN (no_such_name + 1)
#define UNKNOWN_TOO (no_such_name + 2)
#define PLACE __LINE__
#define BY_COMPILER (__GNUC__ + 1)
#define ONLY_A_GUARD
#define __RESERVED 5
#define CALL(x) ((x) + 1)

extern int variable;
extern const double table[4];
extern __thread int per_thread;
struct hidden { int xmember; };
#define xmember (*accessor())
int *accessor(void);
/** Adds two numbers.
 *  @param a the first
 *  \return their sum */
int plain(int a, int b);
static inline int twice(int x) { return 2 * x; }
long double precise(long double x);
float _Complex turn(float _Complex z);
union both by_value(union both b);
struct bits bits_by_value(struct bits b);
struct by_two two_by_value(struct by_two t);
struct later *opaque(struct later *l);
struct later opaque_by_value(void);
int variadic(const char *format, ...);
typedef int (*compare)(const void *, const void *);
void sort(void *base, size_t count, size_t size, compare by);
struct stat_like { int x; };
int stat_like(struct stat_like *s);
