import assert from 'node:assert/strict'
import { ScopeClosedError, ScopeHeldError, type Tensor, tensor } from 'tenon'
import { type ArrowBatch, exportStream, importStream } from 'tenon/arrow'
import { StringTensor } from 'tenon/tstring'
import { NativeScope } from 'tenon/scope'
import {
  checkPair,
  closeReleased,
  collect,
  column,
  copiedBy,
  inPlace,
  lent,
  matrix,
  refused,
  refusedBy,
  reordered,
  tensorCollected,
} from './pair.ts'
import { evaluate, python } from './python.ts'

python(`import pyarrow as pa
whole = pa.array([1, 2, 3, 4, 5, 6], pa.float32())
def export(address, *arrays):
    batches = [pa.record_batch([array], names=['x']) for array in arrays]
    pa.RecordBatchReader.from_batches(batches[0].schema, batches)._export_to_c(address)
`)

const structs = NativeScope.ofConfined()
const batches: ArrowBatch[] = []

/** The batches of a stream of pyarrow. Each expression is the column of a batch. */
function imported(...expressions: readonly string[]): ArrowBatch[] {
  const stream = structs.allocate(40, 8)
  python(`export(${stream.address}, ${expressions.join(', ')})`)
  const made = Array.from(importStream(stream), (batch) => batch.keep())
  batches.push(...made)
  return made
}

/** An array of pyarrow. @param values the expression of its numbers, if it has others */
function give(expression: string, values = 'x'): { x: Tensor; memory: bigint } {
  python(`x = ${expression}`)
  const [batch] = imported('x')
  const address = `${values}.buffers()[1].address + 4 * ${values}.offset`
  return { x: batch!.column('x').tensor(), memory: BigInt(evaluate(address) as number) }
}

/** Each table of Python keeps a name of its own. */
let count = 0

/** Tenon's memory as a table. */
function take(x: Tensor): { read(): unknown; memory: bigint; release(): void } {
  const name = `table_${count++}`
  using stream = exportStream([{ x }])
  python(`${name} = pa.RecordBatchReader._import_from_c(${stream.stream.address}).read_all()`)
  return {
    read: () => evaluate(`${name}['x'].to_pylist()`),
    memory: BigInt(evaluate(`${name}['x'].chunk(0).buffers()[1].address if ${x.shape.length} == 1 else 0`) as number),
    release: () => python(`del ${name}\ngc.collect()`),
  }
}

await checkPair({
  values: { ...column, transposed: matrix.transposed },
  toTenon: {
    contiguous: inPlace(() => give('whole')),
    transposed: reordered(() =>
      give('pa.FixedSizeListArray.from_arrays(pa.array([1, 4, 2, 5, 3, 6], pa.float32()), 2)', 'x.values'),
    ),
    sliced: inPlace(() => give('whole.slice(1, 3)')),
    reversed: reordered(() => give('whole[::-1]')),
    'no elements': inPlace(() => give('whole.slice(0, 0)')),
    '0-d': refused(() => give('whole[4]'), /Python failed/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: copiedBy(take),
    sliced: lent(take),
    'no elements': lent(take),
    '0-d': refusedBy(take, /must have an axis of rows|Python failed/),
  },
  lifetimes: [
    {
      closed: 'all names of Python for the array',
      left: 'the memory stays',
      async check() {
        python('before = pa.total_allocated_bytes()\nx = pa.array([1, 2, 3], pa.float32())')
        const [batch] = imported('x')
        const x = batch!.column('x').tensor()
        python('del x\ngc.collect()')
        await collect()
        assert.deepEqual(x.toArray(), [1, 2, 3])
        assert.equal(evaluate('pa.total_allocated_bytes() > before'), true)
        batch!.close()
        assert.throws(() => x.toArray(), ScopeClosedError)
        assert.equal(evaluate('pa.total_allocated_bytes() - before'), 0)
      },
    },
    {
      closed: 'the scope of a tensor that Python has',
      left: '`ScopeHeldError`, the memory stays',
      async check() {
        const scope = NativeScope.ofConfined()
        const { read, release } = take(tensor('f32', [2], [1, 2], { allocator: scope }))
        assert.throws(() => scope.close(), ScopeHeldError)
        await collect()
        assert.deepEqual(read(), [1, 2])
        release()
        await closeReleased(scope)
      },
    },
    tensorCollected(take),
  ],
  others: {
    'several batches, with nulls, texts and dictionaries'() {
      const [first, second] = imported('pa.array([1., None, 3.])', 'pa.array([4.])')
      assert.deepEqual(first!.column('x').validity()!.toArray(), [true, false, true])
      assert.deepEqual(second!.column('x').tensor().toArray(), [4])
      const [texts] = imported(`pa.array(['a', 'Ω'])`)
      assert.deepEqual(texts!.column('x').strings().toArray(), ['a', 'Ω'])
      const [views] = imported(`pa.array(['a', 'a text that no view holds'], pa.string_view())`)
      assert.deepEqual(views!.column('x').strings().toArray(), ['a', 'a text that no view holds'])
      const [coded] = imported(`pa.array(['b', 'a', 'b']).dictionary_encode()`)
      assert.deepEqual(coded!.column('x').tensor().toArray(), [0, 1, 0])
      assert.deepEqual(coded!.column('x').dictionary!.strings().toArray(), ['b', 'a'])
    },
    'an error of a stream has its text'() {
      const stream = structs.allocate(40, 8)
      python(`def failing():
    yield pa.record_batch([whole], names=['x'])
    raise ValueError('on purpose')
pa.RecordBatchReader.from_batches(pa.schema([('x', pa.float32())]), failing())._export_to_c(${stream.address})`)
      const lengths: number[] = []
      assert.throws(() => {
        for (const { length } of importStream(stream)) lengths.push(length)
      }, /on purpose/)
      assert.deepEqual(lengths, [6])
    },
    'texts, booleans and nulls in pyarrow'() {
      const columns = {
        s: StringTensor.from(['a', 'Ω']),
        b: tensor('bool', [2], [true, false]),
        n: { values: tensor('i64', [2], [1n, 2n]), validity: tensor('bool', [2], [false, true]) },
      }
      using stream = exportStream([columns, columns])
      python(`t = pa.RecordBatchReader._import_from_c(${stream.stream.address}).read_all()\nt.validate(full=True)`)
      const row = (s: string, b: boolean, n: number | null): object => ({ s, b, n })
      const rows = [row('a', true, null), row('Ω', false, 2)]
      assert.deepEqual(evaluate('t.to_pylist()'), [...rows, ...rows])
    },
  },
})
