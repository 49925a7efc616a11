import assert from 'node:assert/strict'
import { ArgumentError, ScopeClosedError, type Tensor, type TensorDescription, tensorSymbol } from 'tenon'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  copiedBy,
  flat,
  inPlace,
  matrix,
  nest,
  onRequest,
  scopeClosed,
} from './pair.ts'

/** (module (import "m" "m" (memory 1 2)) (func (export "get") (param i32) (result f32) (f32.load (local.get 0)))) */
const code = Buffer.from(
  '0061736d0100000001060160017f017d020901016d016d02010102030201000707010367657400000a0901070020002a02000b',
  'hex',
)

class Module {
  readonly memory = new WebAssembly.Memory({ initial: 1, maximum: 2 })
  readonly #module = new WebAssembly.Instance(new WebAssembly.Module(code), { m: { m: this.memory } })

  constructor(values: readonly number[]) {
    this.view(values.length).set(values)
  }

  view(length: number): Float32Array {
    return new Float32Array(this.memory.buffer, 1024, length)
  }

  /** Reads an element by the function of the module. */
  get(index: number): number {
    return (this.#module.exports['get'] as (address: number) => number)(1024 + 4 * index)
  }
}

const module = new Module(flat(matrix.contiguous))

/** Elements in the memory of the module, which has no tensors, by the protocol. */
const offer = (
  first: number,
  shape: number[],
  strides?: number[],
): { x: object; memory: Float32Array; first: number } => {
  const description: TensorDescription = {
    version: 1,
    dtype: 'float32',
    shape,
    strides,
    byteOffset: 1024 + 4 * first,
    buffer: module.memory.buffer,
  }
  return { x: { [tensorSymbol]: () => description }, memory: module.view(6), first }
}

/** Tenon's elements in the memory of a module. */
function take(t: Tensor): { read(): unknown } {
  const values = [...(t.view() as Float32Array)]
  const other = new Module(values)
  return {
    read: () =>
      nest(
        values.map((_, i) => other.get(i)),
        t.shape,
      ),
  }
}

await checkPair({
  values: matrix,
  toTenon: {
    contiguous: inPlace(() => offer(0, [2, 3])),
    transposed: inPlace(() => offer(0, [3, 2], [1, 3])),
    sliced: inPlace(() => offer(1, [2, 2], [3, 1])),
    reversed: onRequest(() => offer(2, [2, 3], [3, -1]).x),
    'no elements': inPlace(() => offer(0, [0, 3])),
    '0-d': inPlace(() => offer(4, [])),
  },
  fromTenon: {
    contiguous: copiedBy(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': copiedBy(take),
    '0-d': copiedBy(take),
  },
  lifetimes: [
    {
      closed: 'the memory grows',
      left: '`ScopeClosedError`',
      check() {
        const x = module.view(6)
        const y = adopted(x)
        module.memory.grow(1)
        assert.throws(() => y.toArray(), ScopeClosedError)
        assert.throws(() => adopted(x), ArgumentError)
        assert.deepEqual(adopted(module.view(6)).toArray(), flat(matrix.contiguous))
      },
    },
    {
      closed: 'the module and its memory are collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(new Module([1, 2, 3]).view(3))
        await collect()
        assert.deepEqual(y.toArray(), [1, 2, 3])
      },
    },
    scopeClosed(take, 'the memory stays', ({ read }) => assert.deepEqual(read(), matrix.contiguous)),
  ],
})
