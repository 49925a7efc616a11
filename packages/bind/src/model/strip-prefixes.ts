import { ToolError } from '@tenon/build'

import type { BoundFunction, Model } from './model.ts'

/**
 * Removes prefixes from the names of functions, variables and constants. Types keep the names of C, which `Pointer<'...'>` has. A name that
 * would be empty or begin with a digit stays.
 *
 * @throws {ToolError} if two declarations have one name then.
 */
export function stripPrefixes(model: Model, prefixes: readonly string[]): Model {
  const short = (name: string): string => {
    const prefix = prefixes.find((one) => name.startsWith(one) && /^[\p{ID_Start}_]/u.test(name.slice(one.length)))
    return prefix === undefined ? name : name.slice(prefix.length)
  }
  const stripped: Model = {
    ...model,
    functions: model.functions.map((one) => withName(one, one.declared === undefined ? short(one.name) : one.name)),
    variables: model.variables.map((one) => {
      const name = short(one.name)
      return name === one.name ? one : { ...one, name, symbol: one.name }
    }),
    constants: model.constants.map((one) => ({ ...one, name: short(one.name) })),
    enums: model.enums.map((one) => ({ ...one, names: one.names.map(short) })),
  }
  checkConstants(
    model.constants.map(({ name }) => name),
    short,
  )
  checkNames(stripped)
  return stripped
}

function checkConstants(names: readonly string[], short: (name: string) => string): void {
  const seen = new Map<string, string>()
  for (const name of names) {
    const other = seen.get(short(name))
    if (other !== undefined && other !== name) throw twoNames(other, name, short(name))
    seen.set(short(name), name)
  }
}

const twoNames = (one: string, other: string, name: string): ToolError =>
  new ToolError(
    `${one} and ${other} must have different names, got ${name} for both\nUse another prefix, or "rename" in the annotations.`,
  )

function withName(one: BoundFunction, name: string): BoundFunction {
  return name === one.name ? one : { ...one, name, symbol: one.symbol ?? one.name, declared: one.name }
}

/** @throws {ToolError} if two declarations of a module have one name since they were renamed. */
export function checkNames({ functions, variables, constants, records, enums, handles = [] }: Model): void {
  const seen = new Map<string, string>()
  const add = (name: string, declared: string): void => {
    const other = seen.get(name)
    if (other !== undefined && other !== declared) throw twoNames(other, declared, name)
    seen.set(name, declared)
  }
  for (const { id } of [...records, ...enums]) add(id, id)
  for (const { className } of handles) add(className, className)
  for (const { name } of constants) add(name, `the constant ${name}`)
  for (const { name, symbol = name } of variables) add(name, symbol)
  for (const { name, declared = name } of functions) add(name, declared)
}
