import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError } from '@tenon/core'
import { readBinary } from '@tenon/core/internal'
import { host } from '../native/host.ts'

/** The mangled names of C++ in the namespace `tvm::ffi`, also of virtual tables and of type information. */
const IN_NAMESPACE = /^_+Z(?:T[VIST]|GV)?N[VKRO]*3tvm3ffi/

const FILE =
  process.platform === 'win32' ? 'tvm_ffi.dll' : `libtvm_ffi.${process.platform === 'darwin' ? 'dylib' : 'so'}`

/**
 * The error for a library that the system's loader refused because it needs the C++ runtime of tvm-ffi, which the bound library
 * does not have, or has in another version. Undefined if the reason is another one.
 */
export function missingRuntime(path: string, reason: string): LoadError | undefined {
  const ffiPath = host().ffiPath
  const symbols = missingSymbols(path, ffiPath)
  if (symbols.length === 0) return undefined
  const first = symbols.find((symbol) => reason.includes(symbol)) ?? symbols[0]!
  const others = symbols.length === 1 ? '' : ` and ${symbols.length - 1} more`
  const sentence = `${path} needs ${readableName(first)}${others} of tvm-ffi's C++ runtime, which the tvm-ffi library ${ffiPath} does not export`
  return new LoadError(sentence, {
    hint: hintFor(path, ffiPath),
    details: { path, symbols, tried: [{ path, reason }] },
  })
}

/** The names of the C++ runtime that a library imports, and that the bound library does not export. */
export function missingSymbols(path: string, ffiPath: string): string[] {
  try {
    const names = readBinary(path).imports.filter(({ name, weak }) => !weak && IN_NAMESPACE.test(name))
    const exported = new Set(names.length === 0 ? [] : readBinary(ffiPath).exports.map(({ name }) => name))
    return names.map(({ name }) => name).filter((name) => !exported.has(name))
  } catch {
    return [] // A file that cannot be read has another problem.
  }
}

function hintFor(path: string, ffiPath: string): string {
  const found = runtimeNear(path, ffiPath)
  if (found !== undefined) return `Set TENON_TVM_FFI_LIBRARY to ${found} before packed functions are first used.`
  return 'Run pip install apache-tvm-ffi, and set TENON_TVM_FFI_LIBRARY to the file that "tvm-ffi-config --libfiles" prints, before packed functions are first used.'
}

/** The tvm-ffi library beside a library, or in the directories where the library tells the loader to search. */
function runtimeNear(path: string, ffiPath: string): string | undefined {
  const origin = dirname(realpathSync(path))
  const { rpath, runpath } = readBinary(path)
  const directories = [...runpath, ...rpath].map((directory) =>
    directory.replace(/\$(?:ORIGIN|\{ORIGIN\})|@loader_path/g, origin),
  )
  const bound = existsSync(ffiPath) ? realpathSync(ffiPath) : ffiPath
  return [origin, ...directories]
    .map((directory) => join(directory, FILE))
    .find((file) => existsSync(file) && realpathSync(file) !== bound)
}

const SPECIAL: Readonly<Record<string, string>> = { TV: 'vtable for ', TI: 'typeinfo for ', TS: 'typeinfo name for ' }

/** The qualified name in a mangled one, without parameters and arguments of templates. */
export function readableName(symbol: string): string {
  const [start = '', special = ''] = /^_+Z(T[VIST]|GV)?N[VKRO]*/.exec(symbol) ?? []
  const parts: string[] = []
  let rest = symbol.slice(start.length)
  for (let match; (match = /^\d+/.exec(rest)) !== null;) {
    const end = match[0].length + Number(match[0])
    parts.push(rest.slice(match[0].length, end))
    rest = rest.slice(end)
  }
  return parts.length === 0 ? symbol : `${SPECIAL[special] ?? ''}${parts.join('::')}`
}
