import { loadGlobally, type CType } from './driver.ts'

/** The functions of a library: the result, then the parameters. */
export type FunctionTable = Readonly<Record<string, readonly [result: CType, parameters: readonly CType[]]>>

export interface DeclaredFunction<Arguments extends readonly unknown[], Result> {
  (...values: Arguments): Result
  /** Runs the function on another thread, then calls `done` on this one. */
  async(...values: [...Arguments, done: (error: unknown, result: Result) => void]): void
}

type ArgumentsOf<Parameters extends readonly CType[]> = {
  -readonly [Index in keyof Parameters]: Parameters[Index] extends 'int64_t' | 'uint64_t' ? number | bigint : number
}

/** A result that may be above 2^53 is a bigint then. */
type ResultOf<Type extends CType> = Type extends 'void'
  ? void
  : Type extends 'int64_t' | 'uint64_t' | 'uintptr_t'
    ? number | bigint
    : number

export type FunctionsOf<Table extends FunctionTable> = {
  readonly [Name in keyof Table]: DeclaredFunction<ArgumentsOf<Table[Name][1]>, ResultOf<Table[Name][0]>>
}

/**
 * Loads a library, whose symbols all libraries that are loaded later can see, and makes an object with the functions of a
 * table.
 *
 * Declaring a function is slow, so a family of functions, such as all `tn_xla_*`, is declared when one of them is first
 * read, and they are plain properties from then on. Declaring each on its own is not safe: koffi ends the process if a
 * function is declared while its worker is terminated, and the callbacks of a family run at that time.
 */
export function loadFunctions<Table extends FunctionTable>(path: string, table: Table): FunctionsOf<Table> {
  const declare = loadGlobally(path)
  const prototype = {}
  const functions: object = Object.create(prototype)
  for (const name of Object.keys(table)) {
    Object.defineProperty(prototype, name, {
      get(): unknown {
        for (const [member, [result, parameters]] of Object.entries(table)) {
          if (familyOf(member) !== familyOf(name)) continue
          Object.defineProperty(functions, member, { value: declare(member, result, parameters) })
        }
        return (functions as Record<string, unknown>)[name]
      },
    })
  }
  return functions as FunctionsOf<Table>
}

/** The family of `tn_xla_close` is `tn_xla`. */
function familyOf(name: string): string {
  return name.split('_', 2).join('_')
}
