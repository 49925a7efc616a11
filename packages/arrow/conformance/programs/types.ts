import assert from 'node:assert/strict'
import { tensor } from 'tenon'
import { type ArrowBatch, ArrowError, exportStream, type ExportColumns, importStream } from 'tenon/arrow'
import { StringTensor } from 'tenon/tstring'
import { AdbcConnection } from './adbc.ts'
import { Database } from './duckdb.ts'

const database = Database.open(':memory:')
const connection = database.connect()

/** Prints whether a part of the test passed. */
async function part(name: string, run: () => Promise<void> | void): Promise<void> {
  try {
    await run()
    console.log(`passed ${name}`)
  } catch (error) {
    console.log(`FAILED ${name}: ${String((error as Error).stack).replaceAll('\n', ' ')}`)
  }
}

/** The values of the column x of a query. */
function values(sql: string): unknown[] {
  return Array.from(connection.query(sql), ({ columns }) => {
    const [x] = columns
    const valid = x!.validity()?.toArray()
    const isText = x!.dtype === undefined
    const found = isText ? x!.strings({ copy: true }).toArray() : x!.tensor({ copy: true }).toNested()
    return (found as unknown[]).map((value, i) => (valid === undefined || valid[i] ? value : null))
  }).flat()
}

const numbers = ['TINYINT', 'SMALLINT', 'INTEGER', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'FLOAT', 'DOUBLE']
for (const type of numbers)
  await part(`DuckDB to Tenon: ${type}`, () => {
    assert.deepEqual(values(`SELECT x::${type} FROM (VALUES (1), (NULL), (100)) t(x)`), [1, null, 100])
  })
for (const type of ['BIGINT', 'UBIGINT'])
  await part(`DuckDB to Tenon: ${type}`, () => {
    assert.deepEqual(values(`SELECT x::${type} FROM (VALUES (1), (NULL), (100)) t(x)`), [1n, null, 100n])
  })
await part('DuckDB to Tenon: BOOLEAN', () => {
  assert.deepEqual(values(`SELECT x FROM (VALUES (true), (NULL), (false)) t(x)`), [true, null, false])
})
await part('DuckDB to Tenon: VARCHAR and BLOB', () => {
  assert.deepEqual(values(`SELECT x FROM (VALUES ('a'), (NULL), ('a text that no struct holds: Ω'), ('')) t(x)`), [
    'a',
    null,
    'a text that no struct holds: Ω',
    '',
  ])
  assert.deepEqual(values(`SELECT 'ab'::BLOB AS x`), ['ab'])
})
await part('DuckDB to Tenon: string views', () => {
  connection.run('SET produce_arrow_string_view = true')
  assert.deepEqual(values(`SELECT x FROM (VALUES ('a'), (NULL), ('a text that no view holds')) t(x)`), [
    'a',
    null,
    'a text that no view holds',
  ])
  connection.run('RESET produce_arrow_string_view')
})
await part('DuckDB to Tenon: DATE and TIMESTAMP', () => {
  assert.deepEqual(values(`SELECT DATE '1970-01-03'`), [2])
  assert.deepEqual(values(`SELECT TIMESTAMP '1970-01-01 00:00:01'`), [1_000_000n])
})
await part('DuckDB to Tenon: arrays, lists and structs', () => {
  assert.deepEqual(values(`SELECT [1, 2, 3]::FLOAT[3] FROM range(2)`), [
    [1, 2, 3],
    [1, 2, 3],
  ])
  for (const { columns } of connection.query(`SELECT [7, 8], {'a': 1, 'b': 'c'} FROM range(2)`)) {
    assert.deepEqual(columns[0]!.offsets().toArray().map(Number), [0, 2, 4])
    assert.deepEqual(columns[0]!.children[0]!.tensor().toArray(), [7, 8, 7, 8])
    assert.deepEqual(columns[1]!.children[1]!.strings().toArray(), ['c', 'c'])
  }
})
await part('DuckDB to Tenon: more rows than a chunk has', () => {
  const sums = Array.from(connection.query('SELECT i FROM range(100000) t(i)'), (batch) =>
    (batch.column('i').tensor().toArray() as bigint[]).reduce((sum, value) => sum + value, 0n),
  )
  assert.ok(sums.length > 10)
  assert.equal(
    sums.reduce((sum, value) => sum + value, 0n),
    4999950000n,
  )
})
await part('a batch stays valid after the end of its query and its connection', () => {
  const own = database.connect()
  const [batch] = Array.from(own.query('SELECT 42 AS x'), (one) => ({
    x: one.column('x').tensor(),
    hold: one.lifetime.acquire(),
  }))
  own[Symbol.dispose]()
  assert.deepEqual(batch!.x.toArray(), [42])
  batch!.hold.release()
})
await part('an error of DuckDB has its text', () => {
  assert.throws(() => [...connection.query('SELECT nothing')], /nothing/)
  assert.throws(() => values(`SELECT error('on purpose') FROM range(3)`), /on purpose/)
})

/** The sum of the column x of batches. */
const sumOf = (sum: number, { columns }: ArrowBatch): number =>
  sum + (columns[0]!.tensor().toArray() as number[]).reduce((one, other) => one + other, 0)

const numbers10k = 'SELECT i::DOUBLE AS x FROM range(10000) t(i)'

await part('a stream of DuckDB: a loop, and a loop of promises', async () => {
  const adbc = new AdbcConnection()
  let sum = 0
  for (const batch of importStream(adbc.stream(numbers10k))) sum = sumOf(sum, batch)
  for await (const batch of importStream(adbc.stream(numbers10k))) sum = sumOf(sum, batch)
  assert.equal(sum, 2 * 49_995_000)
  adbc.close()
})
await part('a stream of DuckDB: nulls, texts, lists and an empty result', () => {
  const adbc = new AdbcConnection()
  const sql = `SELECT * FROM (VALUES (1, 'a', [1, 2]), (NULL, 'a text that no struct holds: Ω', [])) t(n, s, l)`
  for (const batch of importStream(adbc.stream(sql))) {
    assert.deepEqual(batch.column('n').validity()!.toArray(), [true, false])
    assert.deepEqual(batch.column('s').strings().toArray(), ['a', 'a text that no struct holds: Ω'])
    assert.deepEqual(batch.column('l').offsets().toArray().map(Number), [0, 2, 2])
  }
  const empty = importStream(adbc.stream('SELECT 1 AS x WHERE false'))
  assert.deepEqual(
    empty.schema.fields.map(({ name, format }) => [name, format]),
    [['x', 'i']],
  )
  assert.equal([...empty].length, 0)
  adbc.close()
})
await part('a stream of DuckDB: a loop that is left early, and a batch that is kept', () => {
  const adbc = new AdbcConnection()
  const stream = importStream(adbc.stream(numbers10k))
  let kept: ArrowBatch | undefined
  for (const batch of stream) {
    kept = batch.keep()
    break
  }
  assert.equal(stream.isAlive, false)
  adbc.close()
  assert.equal(kept!.column('x').tensor().at(9), 9)
  kept!.close()
})
await part('a stream of DuckDB: an error in the middle has its text', () => {
  const adbc = new AdbcConnection()
  const stream = importStream(
    adbc.stream(`SELECT CASE WHEN i < 1900000 THEN i ELSE error('on purpose') END AS x FROM range(2000000) t(i)`),
  )
  let rows = 0
  assert.throws(
    () => {
      for (const { length } of stream) rows += length
    },
    (error) => error instanceof ArrowError && error.message.includes('on purpose'),
  )
  assert.ok(rows > 0)
  adbc.close()
})

/** Inserts batches into a new table, and reads a query of it. */
async function inserted(types: string, batches: Iterable<ExportColumns>, sql: string): Promise<unknown[]> {
  connection.run(`CREATE OR REPLACE TABLE made (${types})`)
  using stream = exportStream(batches)
  await connection.insert('made', stream)
  return values(sql)
}

await part('Tenon to DuckDB: numbers, with nulls', async () => {
  const validity = tensor('bool', [3], [true, false, true])
  const columns = (): ExportColumns => ({
    a: { values: tensor('i32', [3], [1, 2, 3]), validity },
    b: tensor('f64', [3], [0.5, 1.5, 2.5]),
  })
  assert.deepEqual(await inserted('a INTEGER, b DOUBLE', [columns(), columns()], 'SELECT a FROM made ORDER BY ALL'), [
    1,
    1,
    3,
    3,
    null,
    null,
  ])
  assert.deepEqual(values('SELECT sum(b) FROM made'), [9])
})
await part('Tenon to DuckDB: strings, booleans, timestamps and lists', async () => {
  const columns = {
    s: StringTensor.from(['', 'a', 'a text that no struct holds: Ω']),
    f: tensor('bool', [3], [true, false, true]),
    t: { values: tensor('i64', [3], [0n, 1_000_000n, 2_000_000n]), format: 'tsu:' },
    v: tensor('f32', [3, 2], [1, 2, 3, 4, 5, 6]),
  }
  assert.deepEqual(
    await inserted('s VARCHAR, f BOOLEAN, t TIMESTAMP, v FLOAT[2]', [columns], 'SELECT s FROM made WHERE f ORDER BY s'),
    ['', 'a text that no struct holds: Ω'],
  )
  assert.deepEqual(values('SELECT epoch_us(t) FROM made ORDER BY t'), [0n, 1_000_000n, 2_000_000n])
  assert.deepEqual(values('SELECT v[2] FROM made ORDER BY v'), [2, 4, 6])
})
await part('an error of a generator is the error of the insertion', async () => {
  const failing = function* (): Generator<ExportColumns> {
    yield { x: tensor([1]) }
    throw new RangeError('no more rows')
  }
  await assert.rejects(inserted('x FLOAT', failing(), 'SELECT 1'), /no more rows/)
  await assert.rejects(inserted('x FLOAT', [], 'SELECT 1'))
})
