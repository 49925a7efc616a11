import * as sqlite from '../dist/sqlite/index.js'

/** Texts by key, in a table of SQLite. The module closes what is open when the store is closed. */
export class Store {
  readonly database: sqlite.Database
  readonly #set: sqlite.Statement
  readonly #get: sqlite.Statement
  readonly #keys: sqlite.Statement

  /** @param order a collation: one of SQLite, or one that `prepare` creates */
  constructor(path: string, order = 'binary', prepare: (database: sqlite.Database) => void = () => {}) {
    const database = sqlite.sqlite3_open(path)
    this.database = database
    prepare(database)
    sqlite.sqlite3_exec(
      database,
      `create table if not exists store (key text collate ${order} primary key, value text not null) without rowid`,
    )
    this.#set = sqlite.sqlite3_prepare_v2(database, 'replace into store values (?, ?)')
    this.#get = sqlite.sqlite3_prepare_v2(database, 'select value from store where key = ?')
    this.#keys = sqlite.sqlite3_prepare_v2(database, 'select key from store order by key')
  }

  set(key: string, value: string): void {
    this.#run(this.#set, [key, value])
  }

  get(key: string): string | null {
    return this.#run(this.#get, [key])[0] ?? null
  }

  /** The keys in the order of the collation. */
  keys(): string[] {
    return this.#run(this.#keys, [])
  }

  close(): void {
    this.database.close()
  }

  /** The first column of each row. */
  #run(statement: sqlite.Statement, values: readonly string[]): string[] {
    const rows: string[] = []
    sqlite.sqlite3_reset(statement)
    values.forEach((value, i) => sqlite.sqlite3_bind_text(statement, i + 1, value))
    while (sqlite.sqlite3_step(statement) === sqlite.SQLITE_ROW)
      rows.push(sqlite.sqlite3_column_text(statement, 0) ?? '')
    return rows
  }
}
