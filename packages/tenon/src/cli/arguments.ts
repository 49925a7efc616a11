import { didYouMean } from '@tenon/core/internal'
import { parseArgs } from 'node:util'
import type { ArgDef } from 'citty'
import { UsageError } from './usage-error.ts'

/** The arguments of a command in citty's form, with a mark for flags that may be repeated. */
export type Definition = Readonly<Record<string, ArgDef & { readonly repeatable?: true }>>

/**
 * Checks a command line against a command's definition, because citty ignores unknown flags, missing values and
 * repetitions.
 *
 * @returns all values of each flag, in order
 * @throws {UsageError} that names the problem; for an unknown flag it suggests the most similar one
 */
export function checkArguments(
  rawArgs: readonly string[],
  definition: Definition,
): ReadonlyMap<string, readonly string[]> {
  const { tokens } = parseArgs({
    args: [...rawArgs],
    options: optionsOf(definition),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const value = checkOption(token, definition)
    const known = values.get(token.name)
    if (known === undefined) values.set(token.name, [value])
    else if (definition[token.name]!.repeatable) known.push(value)
    else throw new UsageError(`${token.rawName} is given more than once`)
  }
  checkPositionals(positionals, definition)
  return values
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function optionsOf(definition: Definition): Record<string, { type: 'string' | 'boolean' }> {
  return Object.fromEntries(
    Object.entries(definition)
      .filter(([, { type }]) => type !== 'positional')
      .map(([name, { type }]) => [name, { type: type === 'boolean' ? 'boolean' : 'string' }]),
  )
}

function checkOption(token: OptionToken, definition: Definition): string {
  const option = Object.hasOwn(definition, token.name) ? definition[token.name] : undefined
  if (option === undefined || option.type === 'positional') {
    const flags = [...Object.keys(optionsOf(definition)), 'help'].map((name) => `--${name}`)
    throw new UsageError(`there is no flag ${token.rawName}`, didYouMean(token.rawName, flags))
  }
  if (option.type === 'boolean') {
    if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value`)
    return ''
  }
  // A text that looks like a flag is not a value. Such a value can be passed as --flag=value.
  const missing = token.value === undefined || (!token.inlineValue && /^--[a-z]/.test(token.value))
  if (missing) throw new UsageError(`${token.rawName} needs a value: ${token.rawName} <${option.valueHint ?? 'value'}>`)
  if (option.type === 'enum' && !option.options?.includes(token.value!)) {
    throw new UsageError(`${token.rawName} should be one of ${option.options?.join(', ')}, not ${token.value}`)
  }
  return token.value!
}

function checkPositionals(positionals: readonly string[], definition: Definition): void {
  const names = Object.keys(definition).filter((name) => definition[name]!.type === 'positional')
  const missing = names[positionals.length]
  if (missing !== undefined) throw new UsageError(`the argument <${missing}> is missing`)
  const extra = positionals[names.length]
  if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}`)
}
