import { resolve } from 'node:path'

import { TenonError } from '@tenon/binary'

/** How {@link compile} compiles a source. */
export interface CompileOptions {
  /** By default `c`. C is C11, and C++ is C++17. */
  readonly language?: 'c' | 'c++' | 'cuda'
  /** The name of the source in messages, such as the file of the program that contains it. By default `inline.c`, `.cc` or `.cu`. */
  readonly name?: string
  /** By default `release`. A library of `asan` can only be loaded by a process that has the library of the sanitizer. */
  readonly variant?: 'release' | 'debug' | 'asan'
  /** Further flags of the compiler, behind those of Tenon. */
  readonly flags?: readonly string[]
  /** Further libraries by `-l` name. The functions of `math.h` are always found. */
  readonly libraries?: readonly string[]
  /** Further directories for `#include`. A change of a header in them compiles the source again. */
  readonly includes?: readonly string[]
  /** The command of the compiler. By default `CC`, `CXX` or `NVCC`, then `cc`, `c++` or `nvcc`. */
  readonly compiler?: string
  /** The directory of compiled libraries. By default `TENON_CACHE_DIR`, then `tenon` in the cache directory of the user. */
  readonly cacheDirectory?: string
  /** Ends the compiler when it is aborted. */
  readonly signal?: AbortSignal
  /** How long the compiler may run, in milliseconds. By default 60,000. */
  readonly timeout?: number
}

/** The options with their defaults. */
export interface CompileRequest extends Required<Omit<CompileOptions, 'compiler' | 'cacheDirectory' | 'signal'>> {
  readonly source: string
  readonly compiler: string | undefined
  readonly cacheDirectory: string | undefined
  readonly signal: AbortSignal | undefined
}

const languages = ['c', 'c++', 'cuda'] as const
const variants = ['release', 'debug', 'asan'] as const

const known = [
  'language',
  'name',
  'variant',
  'flags',
  'libraries',
  'includes',
  'compiler',
  'cacheDirectory',
  'signal',
  'timeout',
]

/** The extensions of sources by language. */
export const extensionOf: Readonly<Record<(typeof languages)[number], string>> = { c: '.c', 'c++': '.cc', cuda: '.cu' }

/** Reads each option once. @throws {TenonError} with the code TENON_ARGUMENT if the source or an option is not valid */
export function readOptions(source: unknown, options: unknown = {}): CompileRequest {
  if (typeof source !== 'string') throw invalid('source', 'a string', source)
  if (source.includes('\0')) throw invalid('source', 'text without NUL', source)
  if (typeof options !== 'object' || options === null) throw invalid('options', 'an object', options)
  const given: Readonly<Record<string, unknown>> = { ...options }
  const other = Object.keys(given).find((name) => !known.includes(name))
  if (other !== undefined) {
    throw new TenonError('TENON_ARGUMENT', `options must not have the option ${JSON.stringify(other)}`, {
      hint: `Use some of ${known.join(', ')}.`,
      details: { path: 'options', received: other },
    })
  }
  const { compiler, cacheDirectory, signal, timeout = 60_000 } = given
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal', 'an AbortSignal', signal)
  if (typeof timeout !== 'number' || !(timeout > 0))
    throw invalid('timeout', 'a number of milliseconds above 0', timeout)
  const language = oneOf('language', languages, given['language'])
  return {
    source,
    language,
    name: readText('name', given['name']) ?? `inline${extensionOf[language]}`,
    variant: oneOf('variant', variants, given['variant']),
    flags: readList('flags', given['flags']),
    libraries: readList('libraries', given['libraries']),
    includes: readList('includes', given['includes']).map((directory) => resolve(directory)),
    compiler: readText('compiler', compiler),
    cacheDirectory: readText('cacheDirectory', cacheDirectory),
    signal,
    timeout,
  }
}

/** The first choice is the default. */
function oneOf<const T extends string>(name: string, choices: readonly [T, ...T[]], value: unknown): T {
  if (value === undefined) return choices[0]
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw invalid(name, `one of ${choices.join(', ')}`, value)
}

/** Arguments of programs and lines of sources cannot contain these. */
const control = /\p{Cc}/u

function readText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.trim() !== '' && !control.test(value)) return value
  throw invalid(name, 'text without control characters', value)
}

function readList(name: string, value: unknown): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalid(name, 'an array of strings', value)
  return Array.from(value as readonly unknown[], (item, i) => {
    const text = readText(`${name}[${i}]`, item)
    if (text !== undefined) return text
    throw invalid(`${name}[${i}]`, 'text without control characters', item)
  })
}

function invalid(name: string, expected: string, value: unknown): TenonError {
  const received = describe(value)
  return new TenonError('TENON_ARGUMENT', `${name} must be ${expected}, got ${received}`, {
    details: { path: name, expected, received },
  })
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
