import { didYouMean } from '@tenon/core/internal'
import type { ArgumentDefinition, Definition, Values } from './definition.ts'
import { UsageError } from './usage-error.ts'

/**
 * @param unknownHint the hint for an unknown flag that resembles no other
 * @throws {UsageError} that names the problem; for an unknown flag it suggests the most similar one
 */
export function parseArguments<const T extends Definition>(
  rawArgs: readonly string[],
  definition: T,
  unknownHint: string,
): Values<T> {
  const values = Object.fromEntries(
    Object.entries<ArgumentDefinition>(definition).map(([name, { type, repeatable }]) => [
      name,
      repeatable ? [] : type === 'boolean' ? false : undefined,
    ]),
  ) as Record<string, string | boolean | string[] | undefined>
  const positionals: string[] = []
  for (const part of partsOf(rawArgs, definition)) {
    if (part.flag === undefined) {
      positionals.push(part.value!)
      continue
    }
    const value = flagValue(part, definition, unknownHint)
    const known = values[part.name]
    if (Array.isArray(known)) known.push(value as string)
    else if (known === undefined || known === false) values[part.name] = value
    else throw new UsageError(`${part.flag} is given more than once`)
  }
  const names = Object.keys(definition).filter((name) => definition[name]!.type === 'positional')
  const missing = names[positionals.length]
  if (missing !== undefined) throw new UsageError(`the argument <${missing}> is missing`)
  const last = names.at(-1)
  const takesRest = last !== undefined && definition[last]!.repeatable === true
  const extra = positionals[names.length]
  if (extra !== undefined && !takesRest) throw new UsageError(`unexpected argument ${extra}`)
  names.forEach((name, index) => (values[name] = positionals[index]))
  if (takesRest) values[last] = positionals.slice(names.length - 1)
  return values as Values<T>
}

/** The positional arguments before the first flag that the definition does not have. */
export function leadingPositionals(rawArgs: readonly string[], definition: Definition): readonly string[] {
  const positionals: string[] = []
  for (const { flag, name, value } of partsOf(rawArgs, definition)) {
    if (flag === undefined) positionals.push(value!)
    else if (name !== 'help' && flagOf(definition, name) === undefined) break
  }
  return positionals
}

/** A positional argument, or a flag with its value, if it has one. */
interface Part {
  /** As it is written: `--arg`. Undefined for a positional argument. */
  readonly flag?: string
  readonly name: string
  readonly value?: string | undefined
  readonly isInline?: boolean
}

/** Splits a command line. A flag that the definition does not have has no value, unless it is written with `=`. */
function* partsOf(rawArgs: readonly string[], definition: Definition): Generator<Part> {
  let hasFlags = true
  for (let i = 0; i < rawArgs.length; i++) {
    const text = rawArgs[i]!
    if (hasFlags && text === '--') hasFlags = false
    else if (!hasFlags || text === '-' || !text.startsWith('-')) yield { name: '', value: text }
    else {
      const equals = text.indexOf('=')
      const flag = equals === -1 ? text : text.slice(0, equals)
      const name = flag.replace(/^--/, '')
      const type = flagOf(definition, name)?.type
      if (equals !== -1) yield { flag, name, value: text.slice(equals + 1), isInline: true }
      else if (type === undefined || type === 'boolean') yield { flag, name }
      else yield { flag, name, value: rawArgs[++i] }
    }
  }
}

function flagOf(definition: Definition, name: string): ArgumentDefinition | undefined {
  const found = Object.hasOwn(definition, name) ? definition[name] : undefined
  return found?.type === 'positional' ? undefined : found
}

function flagValue(
  { flag, name, value, isInline = false }: Part,
  definition: Definition,
  unknownHint: string,
): string | true {
  const option = flagOf(definition, name)
  if (option === undefined) {
    const flags = Object.keys(definition).filter((known) => definition[known]!.type !== 'positional')
    throw new UsageError(`there is no flag ${flag}`, didYouMean(name, [...flags, 'help'], '--') ?? unknownHint)
  }
  if (option.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${flag} takes no value`)
    return true
  }
  // A text that looks like a flag is not a value. Such a value can be passed as --flag=value.
  const isMissing = value === undefined || (!isInline && /^--[a-z]/.test(value))
  if (isMissing) throw new UsageError(`${flag} needs a value: ${flag} <${option.valueHint ?? 'value'}>`)
  if (option.type === 'enum' && !option.options?.includes(value)) {
    throw new UsageError(`${flag} must be one of ${option.options?.join(', ')}, got ${value}`)
  }
  return value
}
