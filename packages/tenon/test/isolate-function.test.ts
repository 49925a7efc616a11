import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KernelCrashError, WorkerLostError } from '@tenon/isolate'
import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import { remotePlaceOf } from '@tenon/core/internal'
import { toKoffi } from '@tenon/core/koffi'
import { textOf } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ArgumentError,
  LoadError,
  NativeError,
  ScopeClosedError,
  tensor,
  Library,
  type IsolatedLibrary,
} from '../src/index.ts'
import { errorOf } from './isolated.ts'
import { compileLibrary } from './signature-library.ts'

const SOURCE = `
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef struct { double x; float y; } point;
typedef struct { int64_t values[5]; } large;
typedef struct { int32_t count; } counter;
int data = 5;
double mixed(int8_t a, uint16_t b, int32_t c, int64_t d, float e, double f, _Bool g, uint64_t h) {
  return a + b + c + (double)d + e + f + g + (double)h;
}
int64_t many(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int8_t h, int64_t i, double j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + (int64_t)(10 * j);
}
uint64_t length(const char *text) { return text == NULL ? 99 : strlen(text); }
const char *repeat(const char *text, uint32_t count) {
  static char *made;
  free(made);
  const size_t size = strlen(text);
  made = malloc(size * count + 1);
  for (uint32_t i = 0; i < count; i++) memcpy(made + i * size, text, size);
  made[size * count] = 0;
  return made;
}
const char *no_text(void) { return NULL; }
void scale(float *values, uint64_t count, float by) { for (uint64_t i = 0; i < count; i++) values[i] *= by; }
int32_t divide(int32_t a, int32_t b, int32_t *quotient) {
  if (b == 0) { errno = EDOM; return -1; }
  errno = 0;
  *quotient = a / b;
  return 0;
}
point mirror(point p) { return (point){-p.x, -p.y}; }
large add(large a, large b) { for (int i = 0; i < 5; i++) a.values[i] += b.values[i]; return a; }
int32_t sum(int32_t count, ...) {
  va_list list;
  va_start(list, count);
  int32_t total = 0;
  for (int32_t i = 0; i < count; i++) total += va_arg(list, int32_t);
  va_end(list);
  return total;
}
counter *counter_new(int32_t count) { counter *made = malloc(sizeof *made); made->count = count; return made; }
int32_t counter_add(counter *c, int32_t by) { return c->count += by; }
int32_t counter_both(const counter *a, const counter *b) { return a->count + b->count; }
void counter_free(counter *c) { free(c); }
uint64_t address(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
int32_t process(void) { return getpid(); }
void crash(void) { abort(); }
int32_t nap(uint32_t time) { return usleep(time); }
int32_t first(const int32_t *a, const int32_t *b) { return a == b ? 1 : 0; }
`

const directory = mkdtempSync(join(tmpdir(), 'tenon-functions-'))
let path: string
let library: IsolatedLibrary
beforeAll(async () => {
  path = compileLibrary(directory, SOURCE)
  library = await Library.isolate(path, { workers: 1 })
})
afterAll(async () => {
  await library.closeAsync()
  rmSync(directory, { recursive: true })
})

describe('a C function of an isolated library', () => {
  test('runs in another process, and blocks or does not', async () => {
    const processOf = library.function('process', { result: 'int32' })
    const first = processOf()
    expect(first).not.toBe(process.pid)
    expect(await processOf.async()).toBe(first)
  })

  test('takes scalars of every kind, in registers and on the stack', async () => {
    const mixed = library.function('mixed', {
      result: 'float64',
      parameters: ['int8', 'uint16', 'int32', 'int64', 'float32', 'float64', 'bool', 'uint64'],
    })
    expect(mixed(-1, 2, -3, 4n, 0.5, 0.25, true, 10n)).toBe(13.75)
    const many = library.function('many', {
      result: 'int64',
      parameters: ['int64', 'int64', 'int64', 'int64', 'int64', 'int64', 'int64', 'int8', 'int64', 'float64'],
    })
    // 1 + 2 + 3 + 4 + 5 + 6 + 7 - 8 + 9 + 15
    expect(await many.async(1, 1, 1, 1, 1, 1, 1, -1, 1, 1.5)).toBe(44n)
  })

  test('takes and gives texts, of any length up to 1 MiB', async () => {
    const length = library.function('length', { result: 'uint64', parameters: ['text'] })
    expect([length('hello'), length('€'), length(''), length(null)]).toEqual([5n, 3n, 0n, 99n])
    const repeat = library.function('repeat', { result: 'text', parameters: ['text', 'uint32'] })
    expect(repeat('ab', 3)).toBe('ababab')
    expect(await repeat.async('ü', 20_000)).toBe('ü'.repeat(20_000))
    expect(repeat('x', 2 ** 20 - 1)).toBe('x'.repeat(2 ** 20 - 1))
    expect(library.function('no_text', { result: 'text' })()).toBeNull()
    expect((await errorOf(() => repeat('x', 2 ** 20))).message).toContain(
      'a text that a function returns must have at most 1048575 bytes',
    )
    expect(() => length('a\0b')).toThrow(
      'argument 1 of length must not contain U+0000, at which C would stop reading, got one at index 1',
    )
  })

  test('writes to segments and tensors, copied or in shared memory', async () => {
    const scale = library.function('scale', { parameters: ['pointer', 'uint64', 'float32'] })
    const scaled = Float32Array.of(1, 2, 3)
    const copied = tensor([1, 2, 3])
    scale(copied, 3, 2)
    expect(copied.toArray()).toEqual([2, 4, 6])
    const array = scaled.slice(1)
    scale(array, 2, 3)
    await scale.async(array, 2, 2)
    expect([array, scaled]).toEqual([Float32Array.of(12, 18), Float32Array.of(1, 2, 3)])
    scale(new Float32Array(0), 0, 2)
    const shared = tensor('f32', [3], [1, 2, 3], { allocator: library.memory })
    await scale.async(shared, 3, 3)
    expect(shared.toArray()).toEqual([3, 6, 9])
    using scope = ResourceScope.ofConfined()
    const segment = MemorySegment.allocateNative(8, 8, scope)
    segment.setFloat32(4, 1.5)
    scale(segment.asSlice(4), 1, 2)
    expect(segment.getFloat32(4)).toBe(3)
  })

  test('gives out parameters and errno', async () => {
    const divide = library.function(
      'divide',
      { result: 'int32', parameters: ['int32', 'int32', 'pointer'] },
      { captureErrno: true },
    )
    using scope = ResourceScope.ofConfined()
    const quotient = MemorySegment.allocateNative(4, 8, scope)
    expect(divide(7, 2, quotient)).toEqual({ value: 0, errno: 0 })
    expect(quotient.getInt32(0)).toBe(3)
    expect(await divide.async(7, 0, quotient)).toEqual({ value: -1, errno: 33 })
  })

  test('takes and returns structs by value', async () => {
    const { struct, sequence, float64, float32, int64 } = MemoryLayout
    const point = struct({ x: float64, y: float32 })
    const large = struct({ values: sequence(int64, 5) })
    using scope = NativeScope.ofConfined()
    const p = scope.allocate(point.byteSize!, point.byteAlignment)
    p.setFloat64(0, 1.5)
    p.setFloat32(8, -2)
    const mirror = library.function('mirror', { result: point, parameters: [point] })
    const q = await mirror.async(scope, p)
    expect([q.getFloat64(0), q.getFloat32(8)]).toEqual([-1.5, 2])
    const [a, b] = [
      scope.allocate(large.byteSize!, large.byteAlignment),
      scope.allocate(large.byteSize!, large.byteAlignment),
    ]
    for (let i = 0; i < 5; i++) {
      a.setInt64(8 * i, BigInt(i))
      b.setInt64(8 * i, 100n)
    }
    const sum = library.function('add', { result: large, parameters: [large, large] })(scope, a, b)
    expect([0, 4].map((i) => sum.getInt64(8 * i))).toEqual([100n, 104n])
    expect(a.getInt64(32)).toBe(4n)
  })

  test('refuses a struct whose memory an argument behind it closes', () => {
    const { struct, float64, float32 } = MemoryLayout
    const point = struct({ x: float64, y: float32 })
    const mirror = library.function('mirror', { result: point, parameters: [point, 'pointer'] })
    const [scope, other] = [NativeScope.ofConfined(), NativeScope.ofConfined()]
    const closing = new Proxy(other.allocate(8), {
      get: (target, name) => {
        scope[Symbol.dispose]()
        return Reflect.get(target, name, target) as unknown
      },
    })
    expect(() => mirror(other, scope.allocate(point), closing)).toThrow(ScopeClosedError)
    other.close()
  })

  test('takes the arguments of a variadic function', () => {
    const sum = library.function('sum', {
      result: 'int32',
      parameters: ['int32', 'int32', 'int32'],
      fixedParameters: 1,
    })
    expect(sum(2, 20, 22)).toBe(42)
  })

  test('that throws a C++ exception is a NativeError with its text', async () => {
    const thrower = compileLibrary(
      directory,
      `#include <stdexcept>
      extern "C" int refuse(const char *text) { throw std::invalid_argument(text); }`,
      'libthrow.so',
      'cc',
    )
    await using own = await Library.isolate(thrower, { workers: 1 })
    const error = await errorOf(() => own.function('refuse', { result: 'int32', parameters: ['text'] })('no'))
    expect(error).toBeInstanceOf(NativeError)
    expect(error.message).toContain('refuse threw a C++ exception: no')
  })

  test('keeps the aliases of its arguments', () => {
    const isSame = library.function('first', { result: 'int32', parameters: ['pointer', 'pointer'] })
    const x = tensor([1])
    expect([isSame(x, x), isSame(x, tensor([1]))]).toEqual([1, 0])
  })
})

test('a bare name is searched for as Library.open() does', async () => {
  await using libc = await Library.isolate('libc.so.6', { workers: 1 })
  expect(libc.path).toMatch(/^\/.*libc\.so\.6$/)
  expect(libc.function('abs', { result: 'int32', parameters: ['int32'] })(-42)).toBe(42)
})

describe('a pointer that an isolated function returns', () => {
  const processOf = ({ block }: MemorySegment): number => remotePlaceOf(block)!.worker.process

  const functionsOf = (of: IsolatedLibrary) => ({
    make: of.function('counter_new', { result: 'pointer', parameters: ['int32'] }),
    add: of.function('counter_add', { result: 'int32', parameters: ['pointer', 'int32'] }),
    both: of.function('counter_both', { result: 'int32', parameters: ['pointer', 'pointer'] }),
    free: of.function('counter_free', { parameters: ['pointer'] }),
    crash: of.function('crash', {}),
  })

  test('is taken by other functions of its library', async () => {
    const { make, add, free } = functionsOf(library)
    const counter = make(40)
    expect([counter.byteSize, counter.address === 0n]).toEqual([0, false])
    expect(add(counter, 1)).toBe(41)
    expect(await add.async(counter, 1)).toBe(42)
    free(counter)
    expect(String(counter)).toMatch(/ of process \d+$/)
  })

  test('cannot be used in this process', () => {
    const pointer = counterOf()
    const message = /^a pointer of process \d+ cannot be used in this one/
    using libc = Library.open('libc.so.6')
    expect(() => libc.function('strlen', { result: 'uint64', parameters: ['pointer'] })(pointer)).toThrow(message)
    expect(() => libc.function('strlen', { result: 'uint64', parameters: ['text'] })(pointer)).toThrow(message)
    expect(() => pointer.reinterpret(4)).toThrow(message)
    expect(() => pointer.getInt32(0)).toThrow(/of process [0-9]+/)
    expect(() => pointer.setInt32(0, 1)).toThrow(/of process [0-9]+/)
    // The text there can be copied.
    expect(textOf(pointer)).toBe('\u0001')
    using scope = NativeScope.ofConfined()
    const place = scope.allocate(8, 8)
    expect(() => MemoryLayout.address.write(place, 0, pointer)).toThrow(message)
    expect(() => toKoffi(pointer)).toThrow(message)
    expect(pointer.view().byteLength).toBe(0)
  })

  test('runs its calls in its own worker, and two of different workers are refused', async () => {
    await using two = await Library.isolate(path, { workers: 2 })
    const { make, add, both } = functionsOf(two)
    const counters = [make(1), make(2), make(3), make(4)]
    const workers = new Set(counters.map(processOf))
    expect(workers.size).toBe(2)
    for (let round = 0; round < 20; round++)
      for (const [i, counter] of counters.entries()) expect(await add.async(counter, 1)).toBe(i + 2 + round)
    const [a, b] = [counters[0]!, counters.find((one) => processOf(one) !== processOf(counters[0]!))!]
    expect(() => both(a, b)).toThrow(
      /^argument 2 of counter_both must be a pointer of the process of the other arguments/,
    )
  })

  test('ends with its worker: a later call is a WorkerLostError, and the next worker never gets it', async () => {
    await using own = await Library.isolate(path, { workers: 1 })
    const { make, add, crash } = functionsOf(own)
    const counter = make(1)
    expect(await errorOf(() => crash())).toBeInstanceOf(KernelCrashError)
    const error = await errorOf(() => add(counter, 1))
    expect(error).toBeInstanceOf(WorkerLostError)
    expect(error.message).toContain(`counter_add needs memory of process ${processOf(counter)}, which has ended`)
    await expect(add.async(counter, 1)).rejects.toBeInstanceOf(WorkerLostError)
    expect(add(make(5), 1)).toBe(6)
  })
})

describe('what cannot cross is refused', () => {
  test('pointers of this process, but not addresses that are values', () => {
    const address = library.function('address', { result: 'uint64', parameters: ['pointer'] })
    expect(address(MemorySegment.ofAddress(2n ** 64n - 1n))).toBe(2n ** 64n - 1n)
    expect(address(null)).toBe(0n)
    using scope = ResourceScope.ofConfined()
    const pointer = MemorySegment.ofAddress(MemorySegment.allocateNative(8, 8, scope).address)
    expect(() => address(pointer)).toThrow(/^argument 1 of address must be memory whose size is known/)
    expect(() => address('text' as never)).toThrow(ArgumentError)
  })

  test('closed memory, wrong counts, unknown names and variables', async () => {
    const scale = library.function('scale', { parameters: ['pointer', 'uint64', 'float32'] })
    const scope = ResourceScope.ofConfined()
    const segment = MemorySegment.allocateNative(8, 8, scope)
    scope.close()
    expect(() => scale(segment, 1, 1)).toThrow(ScopeClosedError)
    await expect(scale.async(segment, 1, 1)).rejects.toThrow(ScopeClosedError)
    expect(() => scale(...([segment] as never as [never, never, never]))).toThrow('scale takes 3 arguments, got 1')
    expect(() => library.function('missing', {})).toThrow(LoadError)
    const error = await errorOf(() => library.function('data', {})())
    expect(error.message).toContain('data must be a function, got data')
    expect(() => library.function('process', { result: 'int33' as never })).toThrow(ArgumentError)
    expect(() => library.function('process', {}, { deadline: -1 })).toThrow('deadline must be')
  })

  test('a call beyond its deadline ends', async () => {
    await using own = await Library.isolate(path, { workers: 1 })
    const nap = own.function('nap', { result: 'int32', parameters: ['uint32'] }, { deadline: 100 })
    expect((await errorOf(() => nap(60_000_000))).name).toBe('KernelDeadlineError')
  })
})

const counterOf = (): MemorySegment => library.function('counter_new', { result: 'pointer', parameters: ['int32'] })(1)
