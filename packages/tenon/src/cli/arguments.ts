import { didYouMean } from '@tenon/core/internal'
import { parseArgs } from 'node:util'
import type { Definition, Values } from './sub-command.ts'
import { UsageError } from './usage-error.ts'

/** @throws {UsageError} that names the problem; for an unknown flag it suggests the most similar one */
export function parseArguments<const T extends Definition>(rawArgs: readonly string[], definition: T): Values<T> {
  const { tokens } = parseArgs({
    args: [...rawArgs],
    options: optionsOf(definition),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const values = Object.fromEntries(
    Object.entries<Definition[string]>(definition).map(([name, { type, repeatable }]) => [
      name,
      repeatable ? [] : type === 'boolean' ? false : undefined,
    ]),
  ) as Record<string, string | boolean | string[] | undefined>
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const value = optionValue(token, definition)
    const known = values[token.name]
    if (Array.isArray(known)) known.push(value as string)
    else if (known === undefined || known === false) values[token.name] = value
    else throw new UsageError(`${token.rawName} is given more than once`)
  }
  const names = Object.keys(definition).filter((name) => definition[name]!.type === 'positional')
  const missing = names[positionals.length]
  if (missing !== undefined) throw new UsageError(`the argument <${missing}> is missing`)
  const extra = positionals[names.length]
  if (extra !== undefined) throw new UsageError(`unexpected argument ${extra}`)
  names.forEach((name, index) => (values[name] = positionals[index]))
  return values as Values<T>
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

function optionValue(token: OptionToken, definition: Definition): string | true {
  const option = Object.hasOwn(definition, token.name) ? definition[token.name] : undefined
  if (option === undefined || option.type === 'positional') {
    const flags = [...Object.keys(optionsOf(definition)), 'help'].map((name) => `--${name}`)
    throw new UsageError(`there is no flag ${token.rawName}`, didYouMean(token.rawName, flags))
  }
  if (option.type === 'boolean') {
    if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value`)
    return true
  }
  // A text that looks like a flag is not a value. Such a value can be passed as --flag=value.
  const missing = token.value === undefined || (!token.inlineValue && /^--[a-z]/.test(token.value))
  if (missing) throw new UsageError(`${token.rawName} needs a value: ${token.rawName} <${option.valueHint ?? 'value'}>`)
  if (option.type === 'enum' && !option.options?.includes(token.value!)) {
    throw new UsageError(`${token.rawName} must be one of ${option.options?.join(', ')}, got ${token.value}`)
  }
  return token.value!
}
