/** Runs 100,000 statements, and fails if SQLite or the process keeps memory of them. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ResourceScope } from 'tenon/scope'
import * as sqlite from '../dist/sqlite/index.js'

const COUNT = 50_000
const MOST_BYTES = 2 ** 20 // of JavaScript, in the second half
const MOST_RESIDENT = 2 ** 25 // V8 keeps free pages, so this varies

const { gc } = globalThis
if (gc === undefined) throw new Error('Run node with --expose-gc.')

const database = sqlite.sqlite3_open(':memory:')
sqlite.sqlite3_exec(database, 'create table numbers (value text)')

/** The resources that statements could keep. */
interface Usage {
  readonly sqlite: number
  readonly scopes: number
  readonly javascript: number
  readonly resident: number
}

/** Prepares, runs and closes statements, and returns what is in use when they are collected. */
async function round(count: number): Promise<Usage> {
  for (let i = 0; i < count; i++) {
    const statement = sqlite.sqlite3_prepare_v2(database, 'select ? || ?')
    for (const place of [1, 2]) sqlite.sqlite3_bind_text(statement, place, `text ${i}`)
    sqlite.sqlite3_step(statement)
    const text = sqlite.sqlite3_column_text(statement, 0)
    if (text !== `text ${i}text ${i}`) throw new Error(`statement ${i} gave ${text}`)
    statement.close()
    if (i % 1000 === 999) await nextTurn()
  }
  for (let i = 0; i < 5; i++) {
    gc!()
    await nextTurn()
  }
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  return {
    sqlite: sqlite.sqlite3_memory_used(),
    scopes: ResourceScope.stats().openScopes,
    javascript: heapUsed + external,
    resident: rss - heapTotal,
  }
}

const before = await round(COUNT)
const after = await round(COUNT)
database.close()
const growth = (key: keyof Usage): number => after[key] - before[key]
console.log(
  `${2 * COUNT} statements; the second half added ${growth('sqlite')} bytes in SQLite, ${growth('scopes')} scopes,`,
)
console.log(`${growth('javascript')} bytes in JavaScript, and ${growth('resident')} bytes outside of its heap`)
const isSame = growth('sqlite') === 0 && growth('scopes') === 0
process.exitCode = isSame && growth('javascript') < MOST_BYTES && growth('resident') < MOST_RESIDENT ? 0 : 1
