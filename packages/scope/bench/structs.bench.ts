import { KERNELS, type Row, type Suite } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { type Layout, MemoryLayout, type MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import { NativeModule } from '@tenon/scope/bind'
import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import koffi from 'koffi'

const { float64, sequence, struct } = MemoryLayout
const library = NativeLibrary.open(KERNELS)
const raw = koffi.load(KERNELS)
const lookup = SymbolLookup.ofLibrary(KERNELS, ResourceScope.ofConfined())
const bound = NativeModule.of({ platform: `${process.platform}-${process.arch}`, libraries: [KERNELS] })

const point = struct({ x: float64, y: float64 })
const block = struct({ values: sequence(float64, 8) })
const rawPoint = koffi.struct('BenchPoint', { x: 'double', y: 'double' })
const rawBlock = koffi.struct('BenchBlock', { values: koffi.array('double', 8) })

type Scaled = (memory: NativeScope, struct: MemorySegment, factor: number) => MemorySegment

/**
 * Passes a struct and gets one back. Ours writes the argument to memory, and reads the result from memory that ends with the call, because
 * koffi turns objects into structs and back.
 */
function callRow(
  { name, target }: { name: string; target: number },
  scale: Scaled,
  { layout, members, peer }: { layout: Layout; members: number; peer: () => unknown },
): Row {
  return {
    name,
    unit: 'ns',
    target: { koffi: target },
    setup: () => {
      const memory = NativeScope.ofConfined()
      const operand = memory.allocate(layout.byteSize!, layout.byteAlignment)
      return {
        ours: () => {
          for (let i = 0; i < members; i++) operand.setFloat64(8 * i, i)
          const scope = NativeScope.ofConfined()
          const result = scale(scope, operand, 2)
          let sum = 0
          for (let i = 0; i < members; i++) sum += result.getFloat64(8 * i)
          scope.close()
          return sum
        },
        peers: { koffi: peer },
        teardown: () => memory.close(),
      }
    },
  }
}

/** Native code calls a function that reads a struct and returns it. One native call makes all calls of a batch. */
function stubRow(
  { name, symbol }: { name: string; symbol: string },
  layout: typeof point | typeof block,
  peer: { type: unknown; run: (value: never) => unknown },
): Row {
  return {
    name,
    unit: 'ns',
    target: { koffi: 1.3 },
    setup: () => {
      const scope = ResourceScope.ofConfined()
      let last = 0
      const run = (value: MemorySegment): MemorySegment => {
        last += value.getFloat64(0)
        return value
      }
      const stub = upcallStub(run, { result: layout, parameters: [layout] }, scope)
      const repeat = library.function(symbol, { result: 'float64', parameters: ['pointer', 'int32'] })
      const registered = koffi.register(peer.run, koffi.pointer(peer.type as never))
      const koffiRepeat = raw.func(symbol, 'double', ['void *', 'int'])
      return {
        ours: (iterations) => repeat(stub, iterations) + last,
        peers: { koffi: (iterations: number) => koffiRepeat(registered, iterations) as number },
        teardown: () => {
          scope.close()
          koffi.unregister(registered)
        },
      }
    },
  }
}

const scaleOf = (layout: typeof point | typeof block) => ({ result: layout, parameters: [layout, 'float64'] }) as const
const rawScalePoint = raw.func('bench_scale_point', rawPoint, [rawPoint, 'double'])
const rawScaleBlock = raw.func('bench_scale_block', rawBlock, [rawBlock, 'double'])
const koffiPoint = { x: 0, y: 1 }
const koffiBlock = { values: [0, 1, 2, 3, 4, 5, 6, 7] }
const ofPoint = { layout: point, members: 2, peer: () => rawScalePoint(koffiPoint, 2) as unknown }
const ofBlock = { layout: block, members: 8, peer: () => rawScaleBlock(koffiBlock, 2) as unknown }

export const suite = {
  package: '@tenon/scope',
  rows: [
    callRow(
      { name: 'pass and return a struct in registers', target: 1.2 },
      Linker.downcall(lookup.get('bench_scale_point'), scaleOf(point)) as Scaled,
      ofPoint,
    ),
    callRow(
      { name: 'pass and return a struct of 64 bytes', target: 0.5 },
      Linker.downcall(lookup.get('bench_scale_block'), scaleOf(block)) as Scaled,
      ofBlock,
    ),
    callRow(
      { name: 'pass and return a struct in registers, with a function of a bound module', target: 1.3 },
      bound.link('bench_scale_point', scaleOf(point)) as Scaled,
      { ...ofPoint, peer: () => rawScalePoint(koffiPoint, 2) as unknown },
    ),
    stubRow({ name: 'native code calls a stub with a struct in registers', symbol: 'bench_repeat_points' }, point, {
      type: koffi.proto('BenchPoint bench_point_function(BenchPoint)'),
      run: (value: { x: number }) => value,
    }),
    stubRow({ name: 'native code calls a stub with a struct of 64 bytes', symbol: 'bench_repeat_blocks' }, block, {
      type: koffi.proto('BenchBlock bench_block_function(BenchBlock)'),
      run: (value: { values: number[] }) => value,
    }),
  ],
} satisfies Suite
