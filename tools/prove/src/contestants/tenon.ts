import type { Library, Tensor } from 'tenon'
import type { Contestant, Offered, Setup } from '../contestant.ts'

/** Tenon in the process of the caller. */
export const tenon: Contestant = {
  name: 'tenon',
  description: '`Library.open()`, with declarations of the functions',
  runtimes: ['node', 'bun', 'deno'],
  package: 'tenon',
  firstCall: ({ library }) => `
import { Library } from ${JSON.stringify(import.meta.resolve('tenon'))}
const addOne = Library.open(${JSON.stringify(library)}).function('prove_add_one', { result: 'int32', parameters: ['int32'] })
if (addOne(1) !== 2) throw new Error('wrong')`,
  open: openTenon,
}

async function openTenon({ library: path }: Setup): Promise<Offered> {
  const { Library } = await import('tenon')
  const { NativeScope } = await import('tenon/scope')
  const library = Library.open(path)
  return {
    ...(await bindWork(library)),
    repeatOnThread: library.function('prove_repeat_on_thread', repeat) as never,
    allocate: (size) => {
      const scope = NativeScope.ofConfined()
      const segment = scope.allocate(size)
      return {
        argument: segment,
        read: (index) => segment.getUint8(index),
        write: (index, value) => segment.setUint8(index, value),
        free: () => scope.close(),
      }
    },
    spin: library.function('prove_spin', int32),
    close: () => library.close(),
  }
}

export const int32 = { result: 'int32', parameters: ['int32'] } as const
const repeat = { result: 'int32', parameters: ['pointer', 'int32'] } as const

/**
 * Binds the functions. An isolated library takes the same declarations.
 *
 * @param library in this process or isolated, of which TypeScript has a type each
 */
export async function bindWork(library: Pick<Library, 'function' | 'kernel'>): Promise<Offered> {
  const { from } = await import('tenon')
  const { MemoryLayout, NativeAllocator, NativeScope, ResourceScope } = await import('tenon/scope')
  const { upcallStub } = await import('tenon/scope/linker')
  const layout = MemoryLayout.struct({ x: MemoryLayout.float64, y: MemoryLayout.float64 })
  const points = MemoryLayout.accessor(layout)
  // The operand is used for all calls, as long as the contestant is.
  const operand = NativeAllocator.allocate(NativeScope.ofConfined(), layout)
  const place = points.at(operand)
  const sum = library.function('prove_sum', { result: 'int32', parameters: ['pointer', 'int64'] })
  const scale = library.function('prove_scale', { result: layout, parameters: [layout, 'float64'] })
  const double = library.kernel('prove_double')
  return {
    nothing: library.function('prove_nothing', { parameters: [] }),
    addOne: library.function('prove_add_one', int32) as never,
    sum: sum as never,
    // Asynchronous calls take memory that they can hold, so the bytes become a tensor, without a copy.
    sumLater: (bytes, size) => sum.async((bytes instanceof Uint8Array ? from(bytes) : bytes) as Tensor, size as number),
    fill: library.function('prove_fill', { parameters: ['pointer', 'int64', 'int32'] }) as never,
    keep: library.function('prove_keep', { result: 'int32', parameters: ['pointer'] }) as never,
    kept: library.function('prove_kept', { result: 'int32', parameters: [] }),
    length: library.function('prove_length', { result: 'int32', parameters: ['text'] }) as never,
    text: library.function('prove_text', { result: 'text', parameters: [] }),
    scale: (at, factor) => {
      const scope = NativeScope.ofConfined()
      try {
        place.x = at.x
        place.y = at.y
        const { x, y } = points.at(scale(scope, operand, factor as number))
        return { x, y }
      } finally {
        scope.close()
      }
    },
    callback: (run) => {
      const scope = ResourceScope.ofConfined()
      return { argument: upcallStub(run, int32, scope), release: () => scope.close() }
    },
    repeat: library.function('prove_repeat', repeat) as never,
    writeNull: library.function('prove_write_null', int32) as never,
    // On this thread, as onnxruntime-node computes it.
    double: async (x) => double(from(x as Float32Array).reshape([2, 2])).view(),
  }
}
