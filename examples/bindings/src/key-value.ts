/** A key-value store whose keys have the order of a language: SQLite calls a collation of TypeScript. */
import { ScopeClosedError } from 'tenon/core'
import { StatusError, textOf } from 'tenon/scope/bind'
import * as sqlite from '../dist/sqlite/index.js'
import { Store } from './store.ts'

const { compare } = new Intl.Collator('de')

/** Returns the sentence of the error that a function throws. */
function errorOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError || error instanceof ScopeClosedError) return error.sentence
    throw error
  }
  throw new Error('nothing was thrown')
}

const store = new Store(':memory:', 'german', (database) =>
  sqlite.sqlite3_create_collation(database, 'german', sqlite.SQLITE_UTF8, (_, n, a, m, b) =>
    compare(textOf(a, n) ?? '', textOf(b, m) ?? ''),
  ),
)
for (const city of ['Zürich', 'Ulm', 'Überlingen', 'Aalen', 'Öhringen', 'Oldenburg'])
  store.set(city, city.toUpperCase())
console.log(`ordered:  ${store.keys().join(', ')}`)
console.log(`found:    ${store.get('Überlingen')}, and ${store.get('Paris')} for a key that is absent`)
console.log(`refused:  ${errorOf(() => sqlite.sqlite3_prepare_v2(store.database, 'select * from stor'))}`)
store.close()
console.log(`closed:   ${errorOf(() => store.get('Ulm'))}`)
