/** The same store with SQLite in a process of its own: the crash of an extension is an error, and the next query works. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Library } from 'tenon'
import { KernelCrashError, WorkerLostError } from 'tenon/isolate'
import * as sqlite from '../dist/sqlite/index.js'
import { Store } from './store.ts'

/** Adds the function crash(address) to SQL. */
const extension = fileURLToPath(new URL('../build/release/libcrash.so', import.meta.url))

/** Returns the sentence of the error with which a call ends. */
function crashOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof KernelCrashError || error instanceof WorkerLostError) return error.sentence
    throw error
  }
  throw new Error('the call did not crash')
}

const workers = await Library.isolate(sqlite.library, { workers: 1, deadline: 10_000 })
const directory = mkdtempSync(join(tmpdir(), 'tenon-store-'))
const path = join(directory, 'store.db')

const store = new Store(path)
store.set('Ulm', '89073')
console.log(`isolated:    ${store.get('Ulm')}`)

sqlite.sqlite3_enable_load_extension(store.database, 1)
sqlite.sqlite3_load_extension(store.database, extension)
console.log(`crashing:    ${crashOf(() => sqlite.sqlite3_exec(store.database, 'select crash(8)'))}`)
console.log(`lost:        ${crashOf(() => store.get('Ulm'))}`)
store.close()

const next = new Store(path)
console.log(`recovering:  ${next.get('Ulm')}`)
next.close()
await workers.closeAsync()
rmSync(directory, { recursive: true })
