import { formatSignature, type AttributeParameter, type KernelSignature } from '@tenon/core'
import { didYouMean, formatLiteral, formatType } from '@tenon/core/internal'
import { parseAttributeValue, parseNamedAttribute } from './attribute-value.ts'
import type { ArgumentDefinition, Definition, Values } from './definition.ts'
import { printable, type Style } from './terminal.ts'
import { flagLines } from './usage.ts'
import { UsageError } from './usage-error.ts'

/** The flags of a kernel's attributes. An attribute whose name is an option of the command has no flag. */
export function kernelFlags({ attributes }: KernelSignature, options: Definition): Definition {
  const flags = attributes.flatMap((attribute): [name: string, flag: ArgumentDefinition][] => {
    const { name, type, isOptional, fallback } = attribute
    if (isOption(name, options)) return []
    const omitted = isOptional ? 'optional' : 'required'
    const description = fallback === undefined ? omitted : `default ${formatLiteral(fallback)}`
    if (type !== 'pred') return [[name, { type: 'string', description, valueHint: formatType(type) }]]
    const negative: [string, ArgumentDefinition] = [`no-${name}`, { type: 'boolean', description: `${name} = false` }]
    return [[name, { type: 'boolean', description }], ...(isOption(negative[0], options) ? [] : [negative])]
  })
  return Object.fromEntries(flags)
}

/** The text of `--help` with the signature of a kernel. @param flags those of the kernel's attributes, and the other ones */
export function kernelUsage(
  signature: KernelSignature,
  flags: { readonly own: Definition; readonly options: Definition },
  style: Style,
): string {
  const { name, doc } = signature
  const own = flagLines(flags.own).map(printable)
  return [
    `${style.strong(printable(name))} ${printable(formatSignature({ ...signature, doc: '' }))}`,
    ...(doc === '' ? [] : [printable(doc)]),
    ...(own.length === 0 ? [] : ['', style.strong('attributes'), ...own]),
    '',
    style.strong('flags'),
    ...flagLines(flags.options),
  ].join('\n')
}

/**
 * The attributes on a command line: those with flags of their own, and those of `--attr`.
 *
 * @throws {UsageError} if an attribute is unknown, missing, given twice, or not of its type
 */
export function readKernelAttributes(
  signature: KernelSignature,
  options: Definition,
  flags: Values<Definition>,
  attr: readonly string[],
): Record<string, unknown> {
  const { name: kernel, attributes } = signature
  const named = namedAttributes(signature, attr)
  // Without a prototype, so that an attribute can be named __proto__.
  const values = Object.create(null) as Record<string, unknown>
  for (const attribute of attributes) {
    const { name, isOptional, type } = attribute
    const passed = isOption(name, options) ? undefined : flagValue(attribute, flags)
    const given = named.get(name)
    if (given !== undefined && passed !== undefined) throw new UsageError(`${name} is given by --${name} and by --attr`)
    const value = given === undefined ? passed : parseNamedAttribute(attribute, given)
    if (isOption(name, options) && given === undefined && isSet(flags[name])) {
      throw new UsageError(
        `--${name} is an option of tenon call and an attribute of ${kernel}`,
        `Pass the attribute with --attr ${name}=${hintOf(attribute)}.`,
      )
    }
    if (value !== undefined) values[name] = value
    else if (!isOptional) {
      const flag = isOption(name, options) ? `--attr ${name}=` : `--${name} `
      throw new UsageError(
        `${name} of ${kernel} must be ${formatType(type)}, got no value`,
        `Pass ${flag}${hintOf(attribute)}.`,
      )
    }
  }
  return values
}

/** The texts of `--attr`, by the names of attributes. */
function namedAttributes({ name: kernel, attributes }: KernelSignature, attr: readonly string[]): Map<string, string> {
  const named = new Map<string, string>()
  for (const text of attr) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (name === undefined) throw new UsageError(`--attr must be name=value, got ${text || 'nothing'}`)
    const known = attributes.map((attribute) => attribute.name)
    if (!known.includes(name))
      throw new UsageError(
        `${kernel} does not have an attribute named ${name}`,
        didYouMean(name, known) ?? namesHint(kernel, known),
      )
    if (named.has(name)) throw new UsageError(`--attr ${name} is given more than once`)
    named.set(name, value!)
  }
  return named
}

function flagValue(attribute: AttributeParameter, flags: Values<Definition>): unknown {
  const { name, type } = attribute
  if (type !== 'pred') {
    const text = flags[name]
    return text === undefined ? undefined : parseAttributeValue(attribute, text, `--${name}`)
  }
  const [isTrue, isFalse] = [isSet(flags[name]), isSet(flags[`no-${name}`])]
  if (isTrue && isFalse) throw new UsageError(`--${name} and --no-${name} contradict each other`)
  return isTrue ? true : isFalse ? false : undefined
}

const isOption = (name: string, options: Definition): boolean => name === 'help' || Object.hasOwn(options, name)

const isSet = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false

/** Returns the instruction to use the names of a kernel's attributes. */
function namesHint(kernel: string, names: readonly string[]): string {
  if (names.length === 0) return `Omit the attribute, because ${kernel} does not have attributes.`
  return names.length === 1
    ? `The only attribute of ${kernel} is ${names[0]}.`
    : `The attributes of ${kernel} are ${names.join(', ')}.`
}

/**
 * Returns the hint for a flag that neither the command nor the kernel has. It names the attributes of the kernel, or the way to
 * pass attributes without a signature.
 */
export function unknownFlagHint(kernel: string, signature: KernelSignature | undefined): string {
  if (signature === undefined)
    return `Pass attributes as --attr name=type:value, because ${kernel} does not have a signature.`
  return namesHint(
    kernel,
    signature.attributes.map(({ name }) => `--${name}`),
  )
}

/** An example of a dictionary as JSON in quotes. */
function jsonExample(members: readonly AttributeParameter[]): string {
  const required = members.filter(({ isOptional }) => !isOptional)
  return `'{${required.map((member) => `"${member.name}":${jsonValue(member.type)}`).join(',')}}'`
}

function jsonValue(type: AttributeParameter['type']): string {
  if (typeof type === 'object') return 'enum' in type ? JSON.stringify(type.enum[0] ?? '') : '{}'
  if (type.endsWith('[]')) return '[0,1]'
  return { pred: 'true', string: '"text"', bytes: '"text"', dtype: '"f32"', dictionary: '{}' }[type as string] ?? '1'
}

/** An example of the value on the command line. */
function hintOf({ type, fallback }: AttributeParameter): string {
  if (typeof type === 'object')
    return 'enum' in type ? (type.enum[0] ?? '') : 'notation' in type ? 'JSON' : jsonExample(type.members)
  if (fallback !== undefined && !Array.isArray(fallback) && !(fallback instanceof Uint8Array)) return String(fallback)
  if (type.endsWith('[]')) return '0,1'
  return (
    { pred: 'true', string: 'text', bytes: 'text', dtype: 'f32', dictionary: `'{}'`, pointer: 'address' }[
      type as string
    ] ?? '1'
  )
}

/** @throws {UsageError} if a flag of an attribute is given in a call that does not use the signature */
export function refuseKernelFlags(signature: KernelSignature, options: Definition, values: Values<Definition>): void {
  const name = Object.keys(kernelFlags(signature, options)).find((flag) => isSet(values[flag]))
  if (name === undefined) return
  throw new UsageError(
    `--${name} needs the signature of ${signature.name}, which --abi, --opaque, --stage, --alias and scratch memory replace`,
    `Pass --attr ${name}=type:value.`,
  )
}
