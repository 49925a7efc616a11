/** DuckDB's driver of ADBC, whose results are streams of Arrow. `adbc.h` has the members of its structs. */
import { createRequire } from 'node:module'
import { Library } from 'tenon'
import { MemorySegment, NativeScope } from 'tenon/scope'
import { Linker, SymbolLookup } from 'tenon/scope/linker'

const library = Library.open(createRequire(import.meta.url).resolve('@duckdb/node-bindings-linux-x64/libduckdb.so'))
const p = 'pointer' as const
const init = library.function('duckdb_adbc_init', { result: 'uint8', parameters: ['int32', p, p] })

/** Calls a function that gets a struct AdbcError, whose first member is the text. @throws {Error} with this text */
function checked(call: (error: MemorySegment) => number): void {
  using scope = NativeScope.ofConfined()
  const error = scope.allocate(48, 8)
  const status = call(error)
  if (status === 0) return
  throw new Error(`status ${status}: ${textAt(MemorySegment.ofAddress(error.getInt64(0)), '')}`)
}

/** Returns the text behind a pointer, because every text contains the empty one. */
const textAt = Linker.downcall(SymbolLookup.ofProcess().get('strstr'), { result: 'text', parameters: [p, 'text'] })

const structs = NativeScope.ofConfined()
const driver = structs.allocate(232, 8)
checked((error) => init(1_000_000, driver, error))

/** The function of the driver at an offset of its struct. */
const pointerAt = (offset: number): MemorySegment => MemorySegment.ofAddress(driver.getInt64(offset))
const two = { result: 'uint8', parameters: [p, p] } as const
const three = { result: 'uint8', parameters: [p, p, p] } as const
const adbc = {
  databaseInit: Linker.downcall(pointerAt(24), two),
  databaseNew: Linker.downcall(pointerAt(32), two),
  databaseRelease: Linker.downcall(pointerAt(48), two),
  connectionInit: Linker.downcall(pointerAt(96), three),
  connectionNew: Linker.downcall(pointerAt(104), two),
  connectionRelease: Linker.downcall(pointerAt(128), two),
  statementExecuteQuery: Linker.downcall(pointerAt(160), { result: 'uint8', parameters: [p, p, p, p] }),
  statementNew: Linker.downcall(pointerAt(184), three),
  statementRelease: Linker.downcall(pointerAt(200), two),
  statementSetSqlQuery: Linker.downcall(pointerAt(216), { result: 'uint8', parameters: [p, 'text', p] }),
}

/** A database in memory, with one connection. */
export class AdbcConnection {
  readonly #scope = NativeScope.ofConfined()
  readonly #database = this.#scope.allocate(16, 8)
  readonly #connection = this.#scope.allocate(16, 8)

  constructor() {
    checked((error) => adbc.databaseNew(this.#database, error))
    checked((error) => adbc.databaseInit(this.#database, error))
    checked((error) => adbc.connectionNew(this.#connection, error))
    checked((error) => adbc.connectionInit(this.#connection, this.#database, error))
  }

  /** Runs a query. Returns its struct ArrowArrayStream, in memory that ends with the connection. */
  stream(sql: string): MemorySegment {
    const [statement, stream] = [this.#scope.allocate(16, 8), this.#scope.allocate(40, 8)]
    checked((error) => adbc.statementNew(this.#connection, statement, error))
    try {
      checked((error) => adbc.statementSetSqlQuery(statement, sql, error))
      checked((error) => adbc.statementExecuteQuery(statement, stream, null, error))
    } finally {
      checked((error) => adbc.statementRelease(statement, error))
    }
    return stream
  }

  /** Closes the connection and its database. */
  close(): void {
    checked((error) => adbc.connectionRelease(this.#connection, error))
    checked((error) => adbc.databaseRelease(this.#database, error))
    this.#scope.close()
  }
}
