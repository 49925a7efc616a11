import type { CType, loadGlobally } from './driver.ts'

/** The functions of a library: the result, then the parameters. */
export type FunctionTable = Readonly<Record<string, readonly [result: CType, parameters: readonly CType[]]>>

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
  readonly [Name in keyof Table]: (...values: ArgumentsOf<Table[Name][1]>) => ResultOf<Table[Name][0]>
}

/**
 * Declares the functions of a table in a library that is loaded. All are declared at once, which takes a millisecond: koffi
 * ends the process if a function is declared while its worker is terminated.
 */
export function declareAll<Table extends FunctionTable>(
  declare: ReturnType<typeof loadGlobally>,
  table: Table,
): FunctionsOf<Table> {
  return Object.fromEntries(
    Object.entries(table).map(([name, [result, parameters]]) => [name, declare(name, result, parameters)]),
  ) as unknown as FunctionsOf<Table>
}
