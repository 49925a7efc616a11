import { platforms, type PlatformName } from '../platform.ts'
import { ToolError } from '../tool-error.ts'
import type { Binding, KernelLibrary, KernelTest, ProjectConfig } from './config.ts'

/** Reads a value of the configuration, or throws with the place of the value. */
type Reader<T> = (value: unknown, place: string) => T

/**
 * Copies a configuration of unknown origin, and checks every value.
 *
 * @throws {ToolError} that names the value, what it must be, and what it is
 */
export function checkConfig(value: unknown, file: string): ProjectConfig {
  try {
    const config = readConfig(value, '')
    checkLibraries(config)
    checkNames(config)
    return config
  } catch (error) {
    if (error instanceof Wrong) throw new ToolError(`${file}: ${error.message}`)
    throw error
  }
}

/** A value that is wrong. The name of the file is added outside. */
class Wrong extends Error {}

function wrong(place: string, expected: string, value: unknown): Wrong {
  return new Wrong(`${place || 'the default export'} must be ${expected}, got ${describe(value)}`)
}

function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  return typeof value === 'object' && value !== null ? 'an object' : (JSON.stringify(value) ?? String(value))
}

const text: Reader<string> = (value, place) => {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw wrong(place, 'a non-empty string', value)
}

const flag: Reader<boolean> = (value, place) => {
  if (typeof value === 'boolean') return value
  throw wrong(place, 'true or false', value)
}

function listOf<T>(read: Reader<T>, what: string, least = 0): Reader<readonly T[]> {
  return (value, place) => {
    const copy: readonly unknown[] | undefined = Array.isArray(value) ? [...value] : undefined
    if (copy !== undefined && copy.length >= least) return copy.map((one, i) => read(one, `${place}[${i}]`))
    throw wrong(place, `${least > 0 ? 'a non-empty' : 'an'} array of ${what}`, value)
  }
}

function oneOf<const T extends string>(words: readonly T[]): Reader<T> {
  return (value, place) => {
    const found = words.find((word) => word === value)
    if (found !== undefined) return found
    throw wrong(place, words.length === 1 ? `"${words[0]}"` : `one of ${words.join(', ')}`, value)
  }
}

const texts = listOf(text, 'strings')
const globs = listOf(text, 'globs', 1)

const macros: Reader<Record<string, string>> = (value, place) => {
  if (!isObject(value)) throw wrong(place, 'an object with a string for each macro', value)
  const read = Object.entries(value).map(([name, content]) => {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw wrong(`the name of a macro in ${place}`, 'a C name', name)
    if (typeof content !== 'string') throw wrong(`${place}.${name}`, 'a string', content)
    return [name, content] as const
  })
  return Object.fromEntries(read)
}

const fileName: Reader<string> = (value, place) => {
  if (typeof value === 'string' && /^[A-Za-z][\w-]*$/.test(value)) return value
  throw wrong(place, 'a letter, followed by letters, digits, _ and -', value)
}

type Fields<T> = { readonly [Name in keyof T]-?: Reader<Exclude<T[Name], undefined>> }

/** Reads an object whose members are known. A member that may be absent is left out if it is undefined. */
function objectOf<T extends object>(
  fields: Fields<T>,
  required: readonly (keyof T & string)[],
  what: string,
): Reader<T> {
  return (value, place) => {
    if (!isObject(value)) throw wrong(place, what, value)
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
    if (unknown !== undefined) {
      const known = Object.keys(fields).join(', ')
      throw new Wrong(`${place || 'the default export'} has no member ${unknown}. Its members are ${known}.`)
    }
    const read: Partial<Record<string, unknown>> = {}
    for (const [name, reader] of Object.entries<Reader<unknown>>(fields)) {
      const member = value[name]
      if (member === undefined && !required.some((one) => one === name)) continue
      read[name] = reader(member, place === '' ? name : `${place}.${name}`)
    }
    return read as T
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const common = { name: fileName, sources: globs, includes: texts, defines: macros, flags: texts, libraries: texts }

const library = objectOf<KernelLibrary>(
  {
    ...common,
    imports: texts,
    exports: texts,
    unresolved: texts,
    cxxRuntime: oneOf(['static']),
    cuda: objectOf(
      { architectures: listOf(text, 'architectures', 1) },
      ['architectures'],
      'an object with architectures',
    ),
    optional: flag,
  },
  ['name', 'sources'],
  'a library: { name, sources }',
)

const testProgram = objectOf<KernelTest>(
  { ...common, uses: listOf(fileName, 'names of libraries') },
  ['name', 'sources'],
  'a test program: { name, sources }',
)

/** The systems and platforms before the name of a library. */
const places = [...new Set(platforms.flatMap(({ os, cpu, name }) => [os, `${os}-${cpu}`, name]))]

const systemLibrary: Reader<string> = (value, place) => {
  const name = text(value, place)
  const [platform, file] = name.split('=')
  if (file === undefined || (file !== '' && places.includes(platform!))) return name
  throw wrong(place, `the name of a library, or PLATFORM=NAME with one of ${places.join(', ')}`, value)
}

const binding = objectOf<Binding>(
  {
    headers: listOf(text, 'headers', 1),
    annotations: text,
    systemLibraries: listOf(systemLibrary, 'names of libraries', 1),
    includes: texts,
    defines: macros,
    include: texts,
    exclude: texts,
    headerFiles: texts,
    stripPrefixes: texts,
  },
  ['headers'],
  'a binding: { headers }',
)

const packageNameRule = 'that of an npm package in lower case, such as my-kernels or @me/my-kernels'

const isPackageName = (name: string): boolean =>
  name.length <= 214 && /^(?:@[a-z\d][\w.-]*\/)?[a-z\d][a-z\d._-]*$/.test(name)

const packageName: Reader<string> = (value, place) => {
  if (typeof value === 'string' && isPackageName(value)) return value
  throw wrong(place, packageNameRule, value)
}

/** @throws {ToolError} if it is not the name of an npm package in lower case */
export function checkPackageName(name: string): void {
  if (!isPackageName(name)) throw new ToolError(`the name must be ${packageNameRule}, got ${name || 'nothing'}`)
}

const readConfig = objectOf<ProjectConfig>(
  {
    name: packageName,
    libraries: listOf(library, 'libraries'),
    binding,
    tests: listOf(testProgram, 'test programs'),
    platforms: listOf(oneOf<PlatformName>(platforms.map(({ name }) => name)), 'names of platforms', 1),
  },
  [],
  'the result of defineConfig()',
)

/** Kernels and functions that are bound come from the libraries of the package, and functions from those of the system as well. */
function checkLibraries({ libraries, binding: bound }: ProjectConfig): void {
  if ((libraries?.length ?? 0) > 0 || bound?.systemLibraries !== undefined) return
  const others = bound === undefined ? '' : ', or binding must have systemLibraries'
  throw wrong('libraries', `a non-empty array of libraries${others}`, libraries)
}

/** Refuses names that are used twice, and programs that use a library that does not exist. */
function checkNames({ libraries = [], tests = [], platforms: named = [] }: ProjectConfig): void {
  const name = findTwice([...libraries, ...tests].map((one) => one.name))
  if (name !== undefined) throw new Wrong(`two libraries or tests have the name ${name}`)
  const platform = findTwice(named)
  if (platform !== undefined) throw new Wrong(`platforms has ${platform} twice`)
  for (const { name: user, uses = [] } of tests) {
    const missing = uses.find((used) => !libraries.some((one) => one.name === used))
    if (missing === undefined) continue
    throw new Wrong(
      `the test ${user} uses ${missing}, which must be one of ${libraries.map((one) => one.name).join(', ')}`,
    )
  }
}

const findTwice = (names: readonly string[]): string | undefined => names.find((name, i) => names.indexOf(name) < i)
