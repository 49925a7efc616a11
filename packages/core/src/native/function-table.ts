import type { BindCore, CoreFunction, CResult, CType } from './core-call.ts'

/** The functions of a library: the result, then the parameters. */
export type FunctionTable = Readonly<Record<string, readonly [result: CResult, parameters: readonly CType[]]>>

type ArgumentsOf<Parameters extends readonly CType[]> = {
  -readonly [Index in keyof Parameters]: Parameters[Index] extends 'int64_t' | 'uint64_t' ? number | bigint : number
}

/** A result that may be above 2^53 is a bigint then. */
type ResultOf<Type extends CResult> = Type extends 'void'
  ? void
  : Type extends 'int32_t' | 'uint32_t'
    ? number
    : number | bigint

export type FunctionsOf<Table extends FunctionTable> = {
  readonly [Name in keyof Table]: (...values: ArgumentsOf<Table[Name][1]>) => ResultOf<Table[Name][0]>
}

/** Binds all functions of a table. `find` returns the address of a function. */
export function bindAll<Table extends FunctionTable>(
  bind: BindCore,
  table: Table,
  find: (name: string) => number,
): FunctionsOf<Table> {
  const functions: Record<string, CoreFunction> = {}
  for (const [name, [result]] of Object.entries(table)) functions[name] = bind(find(name), result)
  return functions as unknown as FunctionsOf<Table>
}
