import { readFileSync } from 'node:fs'
import { makeVector, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { from, Library, tensor } from 'tenon'
import { exportStream, type ExportColumns } from 'tenon/arrow'
import { Database } from './duckdb.ts'

/** The rows of 1 GB, of 24 bytes each. */
const ROWS = Math.floor(2 ** 30 / 24)
const [, , way] = process.argv

const library = Library.open('./libscore.so')
const score = library.function('score', { parameters: ['pointer', 'pointer', 'pointer', 'uint64'] })
const database = Database.open('items.db')
const [source, sink] = [database.connect(), database.connect()]
source.run(`SET memory_limit = '300MB'`)
source.run('SET threads = 2')
source.run('SET preserve_insertion_order = false')

function* direct(): Generator<ExportColumns> {
  for (const batch of source.query('SELECT id, price, weight FROM items')) {
    const result = tensor('f64', [batch.length])
    score(batch.column('price').tensor(), batch.column('weight').tensor(), result, batch.length)
    yield { id: batch.column('id').tensor(), score: result }
  }
}

/** The same, if both ways to DuckDB are bytes of the IPC format. */
function* throughIpc(): Generator<ExportColumns> {
  for (const batch of source.query('SELECT id, price, weight FROM items')) {
    const [id, price, weight] = batch.columns.map((column) => column.tensor({ copy: true }).view())
    const table = new Table({ id: makeVector(id), price: makeVector(price), weight: makeVector(weight) } as never)
    const read = tableFromIPC(tableToIPC(table, 'stream'))
    const array = (name: string): Float64Array => read.getChild(name)!.toArray() as Float64Array
    const result = new Float64Array(batch.length)
    score(array('price'), array('weight'), result, batch.length)
    const made = new Table({ id: makeVector(array('id')), score: makeVector(result) } as never)
    const back = tableFromIPC(tableToIPC(made, 'stream'))
    yield { id: from(back.getChild('id')!.toArray()), score: from(back.getChild('score')!.toArray()) } as ExportColumns
  }
}

if (way === 'prepare') {
  source.run(
    `CREATE TABLE items AS SELECT i AS id, hash(i) / 3e18 AS price, hash(i + 1) / 7e18 AS weight FROM range(${ROWS}) t(i)`,
  )
} else {
  source.run('CREATE OR REPLACE TABLE scores (id BIGINT, score DOUBLE)')
  const start = performance.now()
  using stream = exportStream(way === 'ipc' ? throughIpc() : direct())
  await sink.insert('scores', stream)
  const seconds = (performance.now() - start) / 1000
  let [rows, difference] = [0n, 0]
  for (const batch of source.query(
    'SELECT count(*), max(abs(score - 2 * price - weight)) FROM scores JOIN items USING (id) WHERE id % 1000 = 0',
  )) {
    const [count, most] = batch.columns.map((column) => column.tensor().toArray()[0])
    ;[rows, difference] = [count as bigint, most as number]
  }
  if (rows !== BigInt(Math.ceil(ROWS / 1000)) || difference > 1e-9)
    throw new Error(`${rows} rows differ by ${difference}`)
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
  console.log(
    `${way}: ${ROWS} rows, 1 GB, in ${seconds.toFixed(1)} s; largest resident memory ${(peak / 2 ** 30).toFixed(2)} GB`,
  )
}
source[Symbol.dispose]()
sink[Symbol.dispose]()
database[Symbol.dispose]()
