import { addonFunction, KERNELS, ofNodeFfi, type Row, separateBody, type Suite } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { MemorySegment, ResourceScope } from '@tenon/scope'
import { type FunctionSignature, Linker, upcallStub } from '@tenon/scope/linker'
import koffi from 'koffi'
import { memory } from './support.ts'

const LIBC = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

const libc = NativeLibrary.open(LIBC)
const rawLibc = koffi.load(LIBC)
const kernels = NativeLibrary.open(KERNELS)
const rawKernels = koffi.load(KERNELS)

type Add = (a: number, b: number) => number

/** Numbers in the same random order for all contestants. */
const NUMBERS = Int32Array.from({ length: 1000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >> 8)

/** Callbacks of other signatures, with arguments for them. */
const OTHERS: readonly (readonly [FunctionSignature, Parameters<typeof upcallStub>[0], ...unknown[]])[] = [
  [{ parameters: ['pointer'] }, () => {}, null],
  [{ result: 'int32', parameters: ['pointer', 'int32'] }, (_: unknown, b: number) => b, null, 1],
  [{ result: 'int32', parameters: ['int32', 'int32'] }, (a: number, b: number) => a + b, 1, 2],
  [{ result: 'float64', parameters: ['float64', 'float64'] }, (a: number, b: number) => a * b, 1.5, 2],
  [{ result: 'int64', parameters: ['int64', 'pointer'] }, (a: bigint) => a, 1n, null],
  [{ result: 'uint32', parameters: ['uint32'] }, (a: number) => a, 1],
  [{ result: 'int32' }, () => 7],
  [{ result: 'int32', parameters: ['pointer', 'pointer'] }, () => 1, null, null],
  [{ parameters: ['pointer', 'pointer', 'pointer'] }, () => {}, null, null, null],
  [
    { result: 'int32', parameters: ['pointer', 'int32', 'pointer', 'int32', 'pointer'] },
    (_: unknown, first: number, __: unknown, second: number) => first - second,
    ...[null, 1, null, 2, null],
  ],
]

/** Runs callbacks of each of the signatures until the engine has compiled what they share with all others. */
function runOthers(scope: ResourceScope): void {
  for (const [signature, run, ...values] of OTHERS) {
    const call = Linker.downcall(upcallStub(run, signature, scope), signature) as (...all: unknown[]) => unknown
    for (let i = 0; i < 50_000; i++) call(...values)
  }
}

/** The comparison of ours reads both numbers through the pointers. The addon reads them in C, and koffi decodes them. */
function sortRow(name: string, prepare: (scope: ResourceScope) => void): Row {
  return {
    name,
    unit: 'ns',
    target: { 'Node-API addon': 2 },
    setup: () => {
      const { segments, teardown } = memory(NUMBERS.byteLength)
      const [numbers] = segments
      const scope = ResourceScope.ofConfined()
      prepare(scope)
      const compare = upcallStub(
        (a: MemorySegment, b: MemorySegment) => a.getInt32(0) - b.getInt32(0),
        { result: 'int32', parameters: ['pointer', 'pointer'] },
        scope,
      )
      const ours = libc.function('qsort', { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
      const addon = addonFunction<(memory: Buffer, compare: Add) => void>('sort', libc.symbol('qsort'))
      const [addonNumbers, koffiNumbers] = [NUMBERS.slice(), NUMBERS.slice()]
      const addonBuffer = Buffer.from(addonNumbers.buffer)
      const type = koffi.pointer(koffi.proto('int', ['void *', 'void *']))
      const registered = koffi.register(
        (a: unknown, b: unknown) => (koffi.decode(a, 'int32_t') as number) - (koffi.decode(b, 'int32_t') as number),
        type,
      )
      const koffiCall = rawLibc.func('qsort', 'void', ['void *', 'size_t', 'size_t', type])
      const source = MemorySegment.ofBuffer(NUMBERS)
      return {
        ours: separateBody('() => { numbers.copyFrom(source); call(numbers, 1000, 4, compare) }', {
          ...{ numbers, source, compare },
          call: ours,
        }),
        peers: {
          'Node-API addon': separateBody('() => { numbers.set(source); call(buffer, (a, b) => a - b) }', {
            ...{ numbers: addonNumbers, source: NUMBERS, buffer: addonBuffer },
            call: addon,
          }),
          koffi: separateBody('() => { numbers.set(source); call(numbers, 1000, 4, compare) }', {
            ...{ numbers: koffiNumbers, source: NUMBERS, compare: registered },
            call: koffiCall,
          }),
        },
        teardown: () => {
          teardown()
          scope.close()
          koffi.unregister(registered)
        },
      }
    },
  }
}

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      // One native call makes all calls of a batch.
      name: 'native code calls a stub with two int32',
      unit: 'ns',
      target: { 'Node-API addon': 1 },
      setup: () => {
        const scope = ResourceScope.ofConfined()
        const signature = { result: 'int32', parameters: ['int32', 'int32'] } as const
        const stub = upcallStub((a: number, b: number) => a + b, signature, scope)
        const ours = kernels.function('bench_repeat', { result: 'int32', parameters: ['pointer', 'int32'] })
        const addon = addonFunction<(run: Add, count: number) => number>('repeat', kernels.symbol('bench_repeat'))
        const type = koffi.pointer(koffi.proto('int32_t', ['int32_t', 'int32_t']))
        const registered = koffi.register((a: number, b: number) => a + b, type)
        const koffiCall = rawKernels.func('bench_repeat', 'int32_t', [type, 'int32_t'])
        return {
          ours: (iterations) => ours(stub, iterations),
          peers: {
            'Node-API addon': (iterations: number) => addon((a, b) => a + b, iterations),
            koffi: (iterations: number) => koffiCall(registered, iterations) as number,
            ...ofNodeFfi(KERNELS, (library) => {
              const call = library.getFunction('bench_repeat', {
                return: 'int32',
                arguments: ['pointer', 'int32'],
              }) as (run: bigint, count: number) => number
              const run = library.registerCallback(
                { return: 'int32', arguments: ['int32', 'int32'] },
                (a: number, b: number) => a + b,
              )
              return (iterations: number) => call(run, iterations)
            }),
          },
          teardown: () => {
            scope.close()
            koffi.unregister(registered)
          },
        }
      },
    },
    sortRow('qsort() of 1,000 int32 by a function that reads both', () => {}),
    // A program has callbacks of several signatures, and those of one must not make those of another slower.
    sortRow('qsort() of 1,000 int32 by a function that reads both, after ten other stubs', runOthers),
  ],
} satisfies Suite
