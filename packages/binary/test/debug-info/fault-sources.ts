/**
 * The statements with a fault, by kind. `n` is an integer above 0 that the compiler does not know. Each ends its process with a signal if
 * `consume()`, `recurse()` and `past_end()` are those of {@link FAULT_SUPPORT}, and the exception of `throw` leaves its thread.
 */
const faults = {
  null: 'int *p = 0; consume(&p); *p = n;',
  // Larger than all blocks that the heap keeps, so free() unmaps it.
  useAfterFree: 'int *p = (int *)malloc(64 << 20); consume(&p); free(p); p[1] += n; consume(&p);',
  stackOverflow: 'char big[4096]; big[n & 15] = 1; consume(big); if (n < 1000000000) recurse(n + 1); consume(big);',
  abort: 'if (n > 0) abort(); consume(&n);',
  assert: 'assert(n < 0 && "n must be negative");',
  // The words before it are those of a block without a size.
  badFree: 'char local[64] = {0}; consume(local); free(local + 16 + (n & 7));',
  division: 'volatile int zero = 0; n = n / zero; consume(&n);',
  illegalInstruction: 'if (n != 0) __builtin_trap(); consume(&n);',
  throw: 'if (n > 0) throw std::runtime_error("fault " + std::to_string(n));',
  busError: 'volatile int *p = (volatile int *)past_end(); *p = n; consume((void *)p);',
} as const

export type Fault = keyof typeof faults

export const FAULT_KINDS = Object.keys(faults) as readonly Fault[]

/** The shapes of the functions around a fault. Each gives the definitions, and the expression that calls the function with `n`. */
const shapes: Readonly<
  Record<string, (name: string, body: string) => { readonly definitions: string; readonly call: string }>
> = {
  staticFunctions: (name, body) => ({
    definitions: `static __attribute__((noinline)) void ${name}(int n)\n{\n  ${body}\n}\n
static void outer_${name}(int n)
{
  ${name}(n);
  consume(&n);
}`,
    call: `outer_${name}(n)`,
  }),
  inlined: (name, body) => ({
    definitions: `static inline __attribute__((always_inline)) void innermost_${name}(int n) {\n  ${body}\n}
static inline __attribute__((always_inline)) void middle_${name}(int n) {
  for (int i = 0; i < 3; i++)
    innermost_${name}(n + i);
}
struct Holder_${name} { int value; void run() { middle_${name}(value); } };`,
    call: `Holder_${name}{n}.run()`,
  }),
  templates: (name, body) => ({
    definitions: `template <typename T, int N> struct Box_${name} {
  T value;
  template <typename U> void apply(U u) {
    int n = (int)(value + u) + N;
    ${body}
  }
};
template <typename T> T twice_${name}(T n) { Box_${name}<T, 3>{n}.apply((T)n); return n; }`,
    call: `twice_${name}<long>(n), twice_${name}<short>((short)n)`,
  }),
  namespaces: (name, body) => ({
    definitions: `namespace outer { namespace {
class Node_${name} {
  int value;
 public:
  explicit Node_${name}(int n) : value(n) {}
  ~Node_${name}() { consume(&value); }
  int operator()(int n) const { ${body} return n + value; }
};
} namespace inner { __attribute__((noinline)) int visit_${name}(int n) { Node_${name} node(n); return node(n) + node(n + 1); } } }`,
    call: `outer::inner::visit_${name}(n)`,
  }),
  lambdas: (name, body) => ({
    definitions: `template <typename F> __attribute__((noinline)) void each_${name}(int n, F f) { for (int i = 0; i < n; i++) f(i); }
static void lambdas_${name}(int m) {
  auto inner = [m](int n) {
    n += m;
    ${body}
  };
  each_${name}(m, inner);
  each_${name}(m, [&](int n) { inner(n); inner(m); });
}`,
    call: `lambdas_${name}(n)`,
  }),
}

const HEAD = `#include <assert.h>
#include <stdlib.h>
#ifdef __cplusplus
#include <stdexcept>
#include <string>
extern "C" {
#endif
void consume(void *);
void recurse(int);
void *past_end(void);
#ifdef __cplusplus
}
#endif
`

/** A C++ file with the functions that the programs of {@link faultSources} call. `thread_throw()` calls `enter_throw()` on a thread of its own. */
export const FAULT_SUPPORT = `#include <sys/mman.h>
#include <thread>
extern "C" void enter_stackOverflow(int);
extern "C" __attribute__((weak)) void enter_throw(int);
static void *volatile sink;
extern "C" void consume(void *p) { sink = p; }
extern "C" void recurse(int n) { enter_stackOverflow(n); consume(&n); }
extern "C" void *past_end() { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("empty", 0), 0); }
extern "C" void thread_throw(int n) { std::thread(enter_throw, n).join(); }
`

/** Programs with a function for each kind of fault, by the name of the file. Functions of each file have another shape. */
export function faultSources(): ReadonlyMap<string, string> {
  const source = (shape: string, kinds: readonly Fault[], linkage: string): string => {
    const functions = kinds.map((kind) => shapes[shape]!(`fault_${kind}`, faults[kind]))
    const entries = functions.map(
      ({ call }, index) => `${linkage}void enter_${kinds[index]}(int n)\n{\n  ${call};\n}\n`,
    )
    return `${HEAD}\n${functions.map(({ definitions }) => definitions).join('\n\n')}\n\n${entries.join('\n')}`
  }
  return new Map([
    // C has no exceptions.
    [
      'staticFunctions.c',
      source(
        'staticFunctions',
        FAULT_KINDS.filter((kind) => kind !== 'throw'),
        '',
      ),
    ],
    ...Object.keys(shapes).map((shape) => [`${shape}.cc`, source(shape, FAULT_KINDS, 'extern "C" ')] as const),
  ])
}

/** The faults in C, and some in an included file. */
export const cSources: Readonly<Record<string, string>> = {
  'inner.h': `static inline int load(const int *p) {
  return *p;
}
#define LOAD_TWICE(p) (load(p) + \\
  load((p) + 1))
`,
  'faults.c': `#include <assert.h>
#include <stdlib.h>
#include "sub/inner.h"
void consume(void *);
static int deep(int *p, int n) {
  if (n > 3)
    return deep(p + 1, n - 1) + load(p);
  return LOAD_TWICE(p);
}
static int by_switch(int n) {
  switch (n) {
  case 0: abort();
  case 1: consume(&n); break;
  case 2: return n / (n - 2);
  case 3: __builtin_trap();
  case 4: assert(n == 0);
  default: consume(0);
  }
  return n;
}
int __attribute__((cold)) rare(int *p) { *p = 1; return load(p); }
int kernel(int *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += deep(p, i) + by_switch(i);
  if (__builtin_expect(sum < 0, 0))
    return rare(p);
  return sum;
}
`,
}
