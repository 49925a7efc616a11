import type { Contestants, Suite } from '@tenon/bench'
import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { customCall, s32, typedHandler, type PreparedCall } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import koffi from 'koffi'
import { customCallAddon } from './addon.ts'
import { buildRawFrame, type RawFrame } from './raw-frame.ts'

const weights = [1, 2, 3, 4]
const attrs = { w0: s32(1), w1: s32(2), w2: s32(3), w3: s32(4) }

/** The kernel of the rows, prepared by this package and by hand, for the same tensors. */
interface Prepared {
  readonly call: PreparedCall
  readonly operands: readonly Tensor[]
  readonly results: readonly Tensor[]
  readonly raw: RawFrame
  /** The handler, bound by koffi. It takes the address of a frame and returns the address of an error. */
  readonly handler: (frame: number) => number
  /** The addon, prepared for the same handler. */
  readonly addon: ReturnType<typeof customCallAddon>
  readonly arrays: readonly [Float32Array, Float32Array, Float32Array, Float32Array]
  readonly close: () => void
}

function prepare(): Prepared {
  const library = NativeLibrary.open(kernelLibrary('kernels'))
  const [operands, results] = [[1, 2, 3].map((value) => tensor('f32', [1], [value])), [tensor('f32', [1])]]
  const call = typedHandler(library, 'weighted_sum').prepare({ operands, results, attrs })
  const core = koffi.load(coreLibrary().path)
  const api = Number(core.func('XLA_FFI_GetApi', 'uintptr_t', [])())
  const handler = koffi.load(kernelLibrary('kernels')).func('weighted_sum', 'uintptr_t', ['uintptr_t'])
  const raw = buildRawFrame(api, weights)
  ;[...operands, ...results].forEach((t, i) => patch(raw.words, raw.pointers[i]!, t))
  const result = results[0]!
  call.run(operands, results)
  if (result.toArray()[0] !== 18) throw new Error('the prepared call gives a wrong result')
  result.segment.view().setFloat32(0, 0, true)
  if (handler(raw.address) !== 0 || result.toArray()[0] !== 18) throw new Error('the frame built by hand is wrong')
  const addon = customCallAddon()
  addon.prepareTyped(Number(library.symbol('weighted_sum')), api, Int32Array.from(weights))
  // The addon gets arrays of its own, because memory that was exposed as typed arrays needs more checks.
  const arrays = [1, 2, 3, 0].map((value) => Float32Array.of(value)) as unknown as Prepared['arrays']
  addon.runTyped(...arrays)
  if (arrays[3][0] !== 18) throw new Error('the addon gives a wrong result')
  const close = (): void => {
    call.close()
    library.close()
    // The addon uses the arrays by address until here.
    for (const array of arrays) array.fill(0)
  }
  return { call, operands, results, raw, handler: handler as (frame: number) => number, addon, arrays, close }
}

/** Writes the address of a tensor, split into words beforehand. */
function patch(words: Int32Array, at: number, { lo, hi }: Tensor): void {
  words[at] = lo
  words[at + 1] = hi
}

/** Throws when a raw call fails, which callers of raw koffi have to check as well. */
function check(error: number): void {
  if (error !== 0) throw new Error('the kernel failed')
}

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'typed call, 4 buffers patched, 4 attributes',
      unit: 'ns',
      target: { 'raw koffi, patched by hand': 1.5 },
      setup: (): Contestants => {
        const { call, operands, results, raw, handler, addon, arrays, close } = prepare()
        const [x0, x1, x2, y] = arrays
        const [first, second, third] = operands as [Tensor, Tensor, Tensor]
        const out = results[0]!
        const { words, address } = raw
        const [a, b, c, d] = raw.pointers as [number, number, number, number]
        return {
          ours: () => call.run(operands, results),
          peers: {
            'raw koffi, patched by hand': () => {
              patch(words, a, first)
              patch(words, b, second)
              patch(words, c, third)
              patch(words, d, out)
              check(handler(address))
            },
            'Node-API addon': () => addon.runTyped(x0, x1, x2, y),
          },
          teardown: close,
        }
      },
    },
    {
      name: 'typed call, 4 buffers bound, 4 attributes',
      unit: 'ns',
      target: { 'raw koffi, frame as it is': 1.15 },
      setup: (): Contestants => {
        const { call, operands, results, raw, handler, addon, close } = prepare()
        const bound = call.bind(operands, results)
        const { address } = raw
        return {
          ours: () => bound.run(),
          peers: {
            'raw koffi, frame as it is': () => check(handler(address)),
            'Node-API addon': () => addon.runTypedBound(),
          },
          teardown: () => {
            bound.close()
            close()
          },
        }
      },
    },
    {
      name: 'typed call as a function, results given',
      unit: 'ns',
      target: { 'prepared call': 1.5 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const weightedSum = customCall(library, 'weighted_sum')
        const { call, operands, results, close } = prepare()
        return {
          ours: () => weightedSum(operands, { results, attrs }),
          peers: { 'prepared call': () => call.run(operands, results) },
          teardown: () => {
            library.close()
            close()
          },
        }
      },
    },
  ],
} satisfies Suite
