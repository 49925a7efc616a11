import { readBinary, type BinaryInfo } from '@tenon/binary'
import {
  describeType,
  functionDoc,
  functionMetadata,
  listGlobalNames,
  listTypes,
  type TypeDescription,
} from '@tenon/packed-func'
import { openModule } from '../cli/open-module.ts'

/** A global function that a library registers when it is loaded. */
export interface RegisteredFunction {
  readonly name: string
  /** JSON with its `type_schema`, if the library has it. */
  readonly metadata: string | undefined
  readonly doc: string | undefined
}

/** What a library registers with tvm-ffi when it is loaded. */
export interface Registered {
  /** The types, those with fewer ancestors first, and then by key. */
  readonly types: readonly TypeDescription[]
  /** The global functions, by name. */
  readonly functions: readonly RegisteredFunction[]
}

/** What a library registers, with the names under which a module exports it. */
export interface NamedRegistered extends Registered {
  /** The names of the classes of types, by key. */
  readonly classNames: ReadonlyMap<string, string>
  readonly functionNames: ReadonlyMap<string, string>
}

/** What a library without types and functions registers. */
export const NOTHING: Registered = { types: [], functions: [] }

const registering = /^(?:TVMFFIType(?:Register|GetOrAllocIndex)|TVMFFIFunctionSetGlobal)/

/** Whether a library imports the functions that register types or global functions. */
export const registersWithTvm = ({ imports }: BinaryInfo): boolean => imports.some(({ name }) => registering.test(name))

/**
 * Loads a library, and lists what it registers with tvm-ffi. The types and functions of tvm-ffi itself, whose names begin with
 * `ffi.`, are left out.
 *
 * @throws {LoadError} if the library cannot be loaded
 */
export function registeredBy(path: string, info: BinaryInfo = readBinary(path)): Registered {
  if (!info.imports.some(({ name }) => name.startsWith('TVMFFI'))) return NOTHING
  const before = new Set(names())
  openModule(path)
  const added = (all: readonly string[], kind: string): string[] =>
    all.filter((name) => !before.has(kind + name) && !name.startsWith('ffi.')).toSorted()
  const types = added(listTypes(), 'type ').map((key) => describeType(key))
  return {
    types: types.toSorted((a, b) => a.ancestors.length - b.ancestors.length),
    functions: added(listGlobalNames(), 'function ').map((name) => ({
      name,
      metadata: functionMetadata(name),
      doc: functionDoc(name),
    })),
  }
}

const names = (): string[] => [
  ...listTypes().map((key) => `type ${key}`),
  ...listGlobalNames().map((name) => `function ${name}`),
]

/** What is registered below a prefix, such as `xgrammar.tvm_ffi_binding`. */
export function below(prefix: string, { types, functions }: Registered): Registered {
  const start = prefix.endsWith('.') ? prefix : `${prefix}.`
  return {
    types: types.filter(({ key }) => key.startsWith(start)),
    functions: functions.filter(({ name }) => name.startsWith(start)),
  }
}
