import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { Library, ScopeClosedError, ScopeHeldError, type Tensor, tensor } from 'tenon'
import { type ArrowBatch, exportBatch, importBatch, importSchema, importStream } from 'tenon/arrow'
import { MemorySegment, NativeScope } from 'tenon/scope'
import { Linker } from 'tenon/scope/linker'
import { AdbcConnection } from './adbc.ts'
import { Database } from './duckdb.ts'
import {
  checkPair,
  collect,
  column,
  copiedBy,
  flat,
  inPlace,
  lent,
  matrix,
  refused,
  refusedBy,
  reordered,
} from './pair.ts'

const p = 'pointer' as const
const address = Library.open('./libduckdb-address.so')
const duckdb = Library.open(createRequire(import.meta.url).resolve('@duckdb/node-bindings-linux-x64/libduckdb.so'))
const scan = duckdb.function('duckdb_arrow_array_scan', { result: 'int32', parameters: [p, 'text', p, p, p] })
const destroyStream = duckdb.function('duckdb_destroy_arrow_stream', { parameters: [p] })

const connection = Database.open(':memory:').connect()
address.function('register_address_of', { result: 'int32', parameters: [p] })(connection.handle)

const structs = NativeScope.ofConfined()
const pointerAt = (struct: bigint, offset: number): bigint =>
  MemorySegment.ofAddress(struct)
    .reinterpret(offset + 8)
    .getInt64(offset)

/** The first batch of a query, and the address of the numbers of its column in the struct that DuckDB has filled. */
function batchOf(sql: string, from = new AdbcConnection()): { batch: ArrowBatch; memory: bigint } {
  const stream = from.stream(sql)
  const [schema, array] = [structs.allocate(72, 8), structs.allocate(80, 8)]
  const functionAt = (offset: number): ((stream: MemorySegment, struct: MemorySegment) => number) =>
    Linker.downcall(MemorySegment.ofAddress(stream.getInt64(offset)), { result: 'int32', parameters: [p, p] })
  assert.equal(functionAt(0)(stream, schema), 0)
  assert.equal(functionAt(8)(stream, array), 0)
  let values = pointerAt(array.getInt64(48), 0)
  // The numbers of lists are those of the child.
  if (pointerAt(values, 32) > 0n) values = pointerAt(pointerAt(values, 48), 0)
  return { memory: pointerAt(pointerAt(values, 40), 8), batch: importBatch(importSchema(schema), array) }
}

const kept: ArrowBatch[] = []

function query(sql: string): { x: Tensor; memory: bigint } {
  const { batch, memory } = batchOf(sql)
  kept.push(batch)
  return { x: batch.column('x').tensor(), memory }
}

/** The number of batches of a query. */
const count = (sql: string): number => [...importStream(new AdbcConnection().stream(sql))].length

const rows = `(SELECT unnest([${flat(column.contiguous).join()}]::FLOAT[]) AS x)`

/** Passes a tensor as the table `lent` to DuckDB, while something is done. */
async function lend<Result>(x: Tensor, use: () => Result | Promise<Result>): Promise<Result> {
  const exported = exportBatch({ x })
  const stream = structs.allocate(8, 8)
  assert.equal(scan(connection.handle, 'lent', exported.schema, exported.array, stream), 0)
  try {
    return await use()
  } finally {
    connection.run('DROP VIEW lent')
    destroyStream(stream)
    exported.close()
  }
}

/** The rows of the table, and the address from which DuckDB reads them. */
function readLent(): { values: unknown; memory: bigint } {
  const [values, addresses]: [unknown[], bigint[]] = [[], []]
  for (const batch of connection.query('SELECT x, address_of(x) AS memory FROM lent')) {
    values.push(...batch.column('x').tensor().toArray())
    addresses.push(...(batch.column('memory').tensor().toArray() as bigint[]))
  }
  return { values, memory: addresses[0] ?? 0n }
}

async function take(x: Tensor): Promise<{ read(): Promise<unknown>; memory: bigint }> {
  const { memory } = await lend(x, readLent)
  return { read: async () => (await lend(x, readLent)).values, memory }
}

/** Lists of numbers, which are rows of a matrix. */
async function takeLists(x: Tensor): Promise<{ read(): unknown }> {
  const read = (): unknown[] =>
    Array.from(connection.query('SELECT x FROM lent'), (batch) => batch.column('x').tensor().toNested())
  const values = await lend(x, read)
  return { read: () => values.flat() }
}

await checkPair({
  values: { ...column, transposed: matrix.transposed },
  toTenon: {
    contiguous: inPlace(() => query(`SELECT x FROM ${rows}`)),
    transposed: reordered(() => query('SELECT unnest([[1, 4], [2, 5], [3, 6]]::FLOAT[2][]) AS x')),
    sliced: reordered(() => query(`SELECT x FROM ${rows} LIMIT 3 OFFSET 1`)),
    reversed: reordered(() => query(`SELECT x FROM ${rows} ORDER BY x DESC`)),
    // DuckDB has no batch for no rows, and its columns have an axis.
    'no elements': refused(() => assert.equal(count(`SELECT x FROM ${rows} WHERE false`), 1), /0 !== 1/),
    '0-d': refused(() => assert.equal(query('SELECT 5::FLOAT AS x').x.shape.length, 0), /1 !== 0/),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: copiedBy(takeLists),
    sliced: lent(take),
    'no elements': lent(take),
    '0-d': refusedBy(take, /must have an axis of rows/),
  },
  lifetimes: [
    {
      closed: 'the connection and the database',
      left: 'the memory stays',
      async check() {
        const own = new AdbcConnection()
        const { batch } = batchOf(`SELECT x FROM ${rows}`, own)
        const x = batch.column('x').tensor()
        own.close()
        await collect()
        assert.deepEqual(x.toArray(), column.contiguous)
        batch.close()
      },
    },
    {
      closed: 'the connection of a stream that is not read to its end',
      left: 'the stream goes on',
      async check() {
        const own = new AdbcConnection()
        const stream = importStream(own.stream('SELECT i AS x FROM range(10000) t(i)'))
        own.close()
        await collect()
        assert.equal(
          Array.from(stream, ({ length }) => length).reduce((sum, length) => sum + length),
          10_000,
        )
      },
    },
    {
      closed: 'the batch of Tenon',
      left: '`ScopeClosedError`',
      async check() {
        const { batch } = batchOf(`SELECT x FROM ${rows}`)
        const x = batch.column('x').tensor()
        const hold = batch.lifetime.acquire()
        assert.throws(() => batch.close(), ScopeHeldError)
        assert.deepEqual(x.toArray(), column.contiguous)
        hold.release()
        batch.close()
        await collect()
        assert.throws(() => x.toArray(), ScopeClosedError)
      },
    },
    {
      closed: 'the scope of a table that DuckDB reads',
      left: '`ScopeHeldError`, the memory stays',
      async check() {
        const scope = NativeScope.ofConfined()
        const x = tensor('f32', [3], [1, 2, 3], { allocator: scope })
        await lend(x, async () => {
          assert.throws(() => scope.close(), ScopeHeldError)
          await collect()
          assert.deepEqual(readLent(), { values: [1, 2, 3], memory: x.segment.address })
        })
        scope.close()
      },
    },
    {
      closed: 'the tensor of a table is collected',
      left: 'the memory stays',
      async check() {
        await lend(tensor([1, 2, 3]), async () => {
          await collect()
          assert.deepEqual(readLent().values, [1, 2, 3])
        })
      },
    },
  ],
})
