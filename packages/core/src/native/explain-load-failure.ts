import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { BinaryFormatError, missingDependencies, nativeFormat, readBinary } from '@tenon/binary'
import { suggest } from '@tenon/binary/internal'
import { LoadError } from '../errors/kinds.ts'
import { undefinedSymbolHint } from './undefined-symbol-hint.ts'

/**
 * The error for a library that the system's loader refused. It names the problem that the file's headers show, and has the
 * loader's message in its details.
 */
export function explainLoadFailure(path: string, reason: string): LoadError {
  const { sentence = `the library ${path} could not be loaded: ${reason}`, hint } = explain(path, reason) ?? {}
  return new LoadError(sentence, {
    hint,
    details: { path, ...(isReplaced(reason) ? { isReplaced: true } : {}), tried: [{ path, reason }] },
  })
}

const systems = { elf: 'Linux', 'mach-o': 'macOS', pe: 'Windows' } as const

/** Explains the failure by the file's headers. Without a sentence, the message of the loader is the best explanation. */
function explain(
  path: string,
  reason: string,
): { readonly sentence?: string; readonly hint?: string | undefined } | undefined {
  const replaced = replacedFileHint(reason)
  if (replaced !== undefined) return { hint: replaced }
  if (reason.includes('static TLS block')) return { hint: STATIC_TLS }
  if (reason.includes('executable stack')) return { hint: EXECUTABLE_STACK }
  const script = linkerScript(reason)
  if (script !== undefined)
    return { sentence: `the library ${path} is a linker script, which no loader can load`, hint: script }
  if (!existsSync(path)) {
    // The loader searched for a bare name, and its message says where.
    return path.includes('/') ? { sentence: `the library ${path} does not exist`, hint: similarFile(path) } : undefined
  }
  if (!statSync(path).isFile()) return { sentence: `the library ${path} must be a file, got a directory or device` }
  try {
    const info = readBinary(path)
    if (info.format !== nativeFormat) {
      return {
        sentence: `the library ${path} is for ${systems[info.format]}, this process runs on ${process.platform}`,
        hint: 'Build it for this system.',
      }
    }
    if (!info.architectures.includes(process.arch)) {
      return {
        sentence: `the library ${path} is for ${info.architectures.join(', ')}, this process runs on ${process.arch}`,
        hint: 'Build it for this processor, or run Node.js for the other one.',
      }
    }
    // Before its dependencies, which no installation of others can replace.
    if (info.imports.some(({ name, weak }) => !weak && /^_Z(N|NK|T[ISV]N)10tensorflow/.test(name))) {
      return {
        sentence: `the library ${path} uses TensorFlow's C++ interface, which exists only inside TensorFlow`,
        hint: "Write the kernel with TensorFlow's C API (tenon/tf_kernel.h), or for XLA or tvm-ffi.",
      }
    }
    const missing = missingDependencies(path)
    if (missing.length > 0) {
      const names = missing.map(({ name, neededBy }) =>
        resolve(path) === neededBy ? name : `${name} (for ${neededBy})`,
      )
      return {
        sentence: `the library ${path} needs ${names.join(' and ')}, which cannot be found`,
        hint: 'Install the missing library, or add its directory to LD_LIBRARY_PATH or to the search path of the library (-Wl,-rpath).',
      }
    }
    const ofPython = info.imports.find(({ name, weak }) => !weak && /^_?Py[A-Z_]/.test(name))
    if (ofPython !== undefined) {
      return {
        sentence: `the library ${path} needs ${ofPython.name} of Python, which this process does not have: ${reason}`,
        hint: 'Build its kernels into a library that does not use Python, because Tenon does not load the Python interpreter.',
      }
    }
    const hint = undefinedSymbolHint(reason)
    if (hint !== undefined) return { hint }
    // The file in this directory may be valid, but the loader searched elsewhere.
    return basename(path) === path ? { hint: `Write ./${path} for the file in this directory.` } : undefined
  } catch (error) {
    if (!(error instanceof BinaryFormatError)) return undefined
    return { sentence: `cannot load ${path}: ${String(error.details['reason'])}`, hint: error.hint }
  }
}

/** The space for such variables is reserved when the process starts. */
const STATIC_TLS =
  'Load the library when the process starts, with LD_PRELOAD, or reserve more space with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384.'

/** The loader of glibc 2.41 and later, and systems that forbid memory that can be written and run. */
const EXECUTABLE_STACK =
  'Link the library with -z noexecstack if it has no nested functions of GNU C, or allow executable stacks with GLIBC_TUNABLES=glibc.rtld.execstack=2.'

/** The hint for a text for linkers, such as `libm.so`, which the loader found. @param reason the message of the loader */
function linkerScript(reason: string): string | undefined {
  const path = /^(\/.+): (?:invalid ELF header|file too short)$/.exec(reason)?.[1]
  if (path === undefined) return undefined
  try {
    const [, names = ''] = /(?:GROUP|INPUT)\s*\(([^)]*)\)/.exec(readFileSync(path, 'utf8')) ?? []
    const library = /\S+\.so[.\d]*/.exec(names)?.[0]
    return library && `Open the library that it names: ${library}.`
  } catch {
    return undefined // It cannot be read.
  }
}

/** Whether a library was opened, and its file is another one now. @param reason the message of the core */
const isReplaced = (reason: string): boolean => reason.includes('was replaced after the library was opened')

/** What to do about a file that was changed after it was loaded. @param reason the message of the core */
function replacedFileHint(reason: string): string | undefined {
  if (reason.includes('which it needs, was replaced')) {
    return 'Restart the process, or open it with Library.isolate(), because a process keeps the first library of each name that others need.'
  }
  if (isReplaced(reason)) return 'Open the library again, which loads the new file.'
  if (!reason.includes('was overwritten after')) return undefined
  return 'Restart the process. Replace files of libraries by renaming others, as linkers and package managers do, because code that is overwritten can end the process.'
}

/** A hint with the most similar name in the directory of a missing file. */
function similarFile(path: string): string | undefined {
  const name = basename(path)
  try {
    const [similar] = suggest(name, readdirSync(dirname(path)), 1)
    return similar && `Did you mean ${path.slice(0, path.lastIndexOf(name))}${similar}?`
  } catch {
    return undefined // The directory does not exist, or cannot be read.
  }
}
