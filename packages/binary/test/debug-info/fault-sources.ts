/** The statements with a fault, by kind. `n` is an integer that the compiler does not know. */
const faults = {
  null: 'int *p = nullptr; consume(&p); *p = n;',
  useAfterFree: 'int *p = (int *)malloc(16); consume(&p); free(p); p[1] += n; consume(&p);',
  stackOverflow: 'char big[4096]; big[n & 15] = 1; consume(big); if (n < 1000000000) recurse(n + 1); consume(big);',
  abort: 'if (n > 0) abort(); consume(&n);',
  assert: 'assert(n < 0 && "n must be negative");',
  badFree: 'char local[64]; consume(local); free(local + (n & 7));',
  division: 'volatile int zero = 0; n = n / zero; consume(&n);',
  illegalInstruction: 'if (n != 0) __builtin_trap(); consume(&n);',
  throw: 'if (n > 0) throw std::runtime_error("fault " + std::to_string(n));',
  busError: 'volatile long *p = (volatile long *)((long)&n | 1); *p = n; consume((void *)p);',
} as const

type Fault = keyof typeof faults

const kinds = Object.keys(faults) as Fault[]

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

const head = `#include <cassert>
#include <cstdlib>
#include <stdexcept>
#include <string>
extern "C" void consume(void *);
extern "C" void recurse(int);
`

/** Programs with a function for each kind of fault, in C++, by the name of the shape of their functions. */
export function faultSources(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(shapes).map(([shape, make]) => {
      const functions = kinds.map((kind) => make(`fault_${kind}`, faults[kind]))
      const entries = functions.map(
        ({ call }, index) => `extern "C" void enter_${kinds[index]}(int n)\n{\n  ${call};\n}\n`,
      )
      return [
        shape,
        `${head}\n${functions.map(({ definitions }) => definitions).join('\n\n')}\n\n${entries.join('\n')}`,
      ]
    }),
  )
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
