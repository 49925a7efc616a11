import type { Contestants, Row, Suite } from '@tenon/bench'
import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { customCall, f32, targetCall, typedHandler, type CustomCall } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

const eps = f32(1e-5)
const SIGNATURE = '(x: f32[..., d]) -> (y: f32[..., d]); eps: f32'

/** A call as a function with its tensors, which have as many shapes. They have no elements, so the kernel does the same work for each. */
class Turns {
  readonly x: readonly Tensor[]
  readonly y: readonly Tensor[]
  readonly call: CustomCall
  #last = 0

  constructor(library: NativeLibrary, count: number) {
    const make = (): Tensor[] => Array.from({ length: count }, (_, i) => tensor('f32', [i + 1, 0]))
    this.call = customCall(library, 'rms_norm')
    this.x = make()
    this.y = make()
  }

  /** Returns the index of the shape whose turn it is. */
  next(): number {
    this.#last = this.#last + 1 === this.x.length ? 0 : this.#last + 1
    return this.#last
  }
}

/** Opens the library, and makes the turns of one shape and of several. */
function open(count: number): { one: Turns; many: Turns; library: NativeLibrary; teardown: () => void } {
  const library = NativeLibrary.open(kernelLibrary('kernels'))
  return { one: new Turns(library, 1), many: new Turns(library, count), library, teardown: () => library.close() }
}

/** The bodies of the rows are written out, so that they do not share type feedback. */
export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'call as a function, one shape',
      unit: 'ns',
      target: { 'prepared call': 1.5 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const [operands, results] = [[tensor('f32', [1, 4])], [tensor('f32', [1, 4])]]
        const [x, y] = [operands[0]!, results[0]!]
        const rmsNorm = customCall(library, 'rms_norm')
        const call = typedHandler(library, 'rms_norm').prepare({ operands, results, attrs: { eps } })
        return {
          ours: () => rmsNorm([x], { results: [y], attrs: { eps } }),
          peers: { 'prepared call': () => call.run(operands, results) },
          teardown: () => {
            call.close()
            library.close()
          },
        }
      },
    },
    inTurn(2, 1.3),
    inTurn(4, 1.3),
    inTurn(8, 1.3),
    inTurn(16, 1.5),
    inTurn(1000, 1.5),
    {
      name: 'kernel with a signature, 1,000 shapes in turn',
      unit: 'ns',
      target: { 'one shape': 1.5 },
      setup: (): Contestants => {
        const { one, many, library, teardown } = open(1000)
        const [kernel, other] = [0, 1].map(() => targetCall(SIGNATURE, typedHandler(library, 'rms_norm')))
        return {
          ours: () => {
            const i = many.next()
            kernel!(many.x[i]!, { eps: 1e-5 }, { into: many.y[i]! })
          },
          peers: {
            'one shape': () => {
              const i = one.next()
              other!(one.x[i]!, { eps: 1e-5 }, { into: one.y[i]! })
            },
          },
          teardown,
        }
      },
    },
    {
      name: 'kernel with a signature, a new shape in each call, with its operand and result',
      unit: 'ns',
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const [kernel, other] = [0, 1].map(() => targetCall(SIGNATURE, typedHandler(library, 'rms_norm')))
        let [rows, others] = [0, 0]
        const x = tensor('f32', [1, 0])
        return {
          ours: () => kernel!(tensor('f32', [++rows, 0]), { eps: 1e-5 }),
          peers: {
            'one shape, and a tensor of a new shape': () => {
              tensor('f32', [2 ** 32 + ++others, 0])
              return other!(x, { eps: 1e-5 })
            },
          },
          teardown: () => library.close(),
        }
      },
    },
    {
      name: 'call as a function, result allocated and all arguments made in the call',
      unit: 'ns',
      target: { 'result given': 2.5 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const rmsNorm = customCall(library, 'rms_norm')
        const other = customCall(library, 'rms_norm')
        const [x, y] = [tensor('f32', [2, 4]), tensor('f32', [2, 4])]
        return {
          ours: () => rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } }),
          peers: { 'result given': () => other([x], { results: [y], attrs: { eps: f32(1e-5) } }) },
          teardown: () => library.close(),
        }
      },
    },
    {
      name: 'kernel with a signature, result given',
      unit: 'ns',
      target: { 'prepared call': 1.5, 'customCall()': 1.3 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const handler = typedHandler(library, 'rms_norm')
        const kernel = targetCall(SIGNATURE, handler)
        const rmsNorm = customCall(library, 'rms_norm')
        const [x, into] = [tensor('f32', [1, 4]), tensor('f32', [1, 4])]
        const [operands, results] = [[x], [into]]
        const call = handler.prepare({ operands, results, attrs: { eps } })
        return {
          ours: () => kernel(x, { eps: 1e-5 }, { into }),
          peers: {
            'prepared call': () => call.run(operands, results),
            'customCall()': () => rmsNorm([x], { results: [into], attrs: { eps } }),
          },
          teardown: () => {
            call.close()
            library.close()
          },
        }
      },
    },
  ],
} satisfies Suite

/** The row of a function that is called with tensors of several shapes in turn. @param target the greatest ratio to calls with one shape */
function inTurn(count: number, target: number): Row {
  return {
    name: `call as a function, ${count.toLocaleString('en')} shapes in turn`,
    unit: 'ns',
    target: { 'one shape': target },
    setup: (): Contestants => {
      const { one, many, teardown } = open(count)
      return {
        ours: () => {
          const i = many.next()
          many.call([many.x[i]!], { results: [many.y[i]!], attrs: { eps } })
        },
        peers: {
          'one shape': () => {
            const i = one.next()
            one.call([one.x[i]!], { results: [one.y[i]!], attrs: { eps } })
          },
        },
        teardown,
      }
    },
  }
}
