import assert from 'node:assert/strict'
import {
  Field,
  FixedSizeList,
  Float32,
  makeData,
  makeVector,
  Table,
  tableFromIPC,
  tableToIPC,
  Vector,
} from 'apache-arrow'
import { ArgumentError, ScopeClosedError, type Tensor } from 'tenon'
import {
  adopted,
  checkPair,
  collect,
  column,
  flat,
  inPlace,
  lent,
  pinnedScopeClosed,
  refused,
  refusedBy,
  scopeClosed,
  tensorCollected,
} from './pair.ts'

const numbers = Float32Array.from(flat(column.contiguous))
const vector = makeVector(numbers)

/** A column of lists of three elements. */
const lists = new Vector([
  makeData({
    type: new FixedSizeList(3, new Field('item', new Float32())),
    length: 2,
    child: makeData({ type: new Float32(), data: numbers }),
  }),
])

/** Tenon's memory as a vector. */
function take(t: Tensor): { read(): unknown; memory: Float32Array } {
  const x = makeVector(t.view() as Float32Array)
  return { read: () => (t.shape.length === 0 ? x.get(0) : [...x]), memory: x.data[0]!.values }
}

/** A table that was read from the bytes of Arrow's IPC format. */
const table = (): Table => tableFromIPC(tableToIPC(new Table({ x: vector } as never)))

await checkPair({
  values: column,
  toTenon: {
    contiguous: inPlace(() => ({ x: vector, memory: numbers })),
    transposed: refused(() => adopted(lists), /numbers, booleans or texts, got "FixedSizeList\[3\]<Float32>"/),
    sliced: inPlace(() => ({ x: vector.slice(1, 4), memory: numbers, first: 1 })),
    reversed: refused(() => (vector as never as number[]).toReversed(), /not a function/),
    'no elements': inPlace(() => ({ x: makeVector(new Float32Array(0)), memory: numbers })),
    '0-d': refused(() => adopted(vector.get(0)), /must be a TypedArray or a tensor/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: refusedBy(take, /must have adjacent elements/),
    sliced: lent(take),
    'no elements': lent(take),
    '0-d': lent(take),
  },
  lifetimes: [
    {
      closed: 'the table is collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(table().getChild('x'))
        await collect()
        assert.deepEqual(y.toArray(), column.contiguous)
      },
    },
    {
      closed: 'the bytes of the table are transferred',
      left: '`ScopeClosedError`',
      check() {
        const x = table().getChild('x')!
        const y = adopted(x)
        const { buffer } = x.data[0]!.values as Float32Array<ArrayBuffer>
        structuredClone(buffer, { transfer: [buffer] })
        assert.throws(() => y.toArray(), ScopeClosedError)
        assert.throws(() => adopted(x), ArgumentError)
      },
    },
    scopeClosed(take, '`TypeError` of the engine', ({ read, memory }) => {
      assert.throws(read, TypeError)
      assert.throws(() => adopted(memory), ArgumentError)
    }),
    pinnedScopeClosed(take),
    tensorCollected(take),
  ],
})
