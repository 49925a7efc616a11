import { existsSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { BinaryFormatError, missingDependencies, nativeFormat, readBinary } from '@tenon/binary'
import { LoadError } from '../errors/kinds.ts'

/**
 * The error for a library that the system's loader refused: what is wrong with the file, as its own headers tell, and
 * the loader's words.
 */
export function explainLoadFailure(path: string, reason: string): LoadError {
  const { sentence, hint } = explain(path, reason)
  return new LoadError(sentence, { ...(hint === undefined ? {} : { hint }), details: { tried: [{ path, reason }] } })
}

/** Whether a path names what is no file. The loader would wait for ever for a pipe's writer. */
export function isSpecialFile(path: string): boolean {
  try {
    return path.includes('/') && !statSync(path).isFile()
  } catch {
    return false // it isn't there, or can't be seen: the loader says which
  }
}

interface Explanation {
  readonly sentence: string
  readonly hint?: string
}

/** The systems that load each format. */
const systems = { elf: 'Linux', 'mach-o': 'macOS', pe: 'Windows' } as const

function explain(path: string, reason: string): Explanation {
  const refused: Explanation = { sentence: `the library ${path} could not be loaded: ${reason}` }
  if (!existsSync(path)) {
    // A bare name was searched for by the loader, whose words say it all.
    return path.includes('/') ? { sentence: `the library ${path} does not exist` } : refused
  }
  if (!statSync(path).isFile()) return { sentence: `the library ${path} must be a file, it is a directory or device` }
  try {
    const info = readBinary(path)
    if (info.format !== nativeFormat) {
      return {
        sentence: `the library ${path} is for ${systems[info.format]}, this process runs on ${process.platform}`,
        hint: 'build it for this system.',
      }
    }
    if (!info.architectures.includes(process.arch)) {
      return {
        sentence: `the library ${path} is for ${info.architectures.join(', ')}, this process runs on ${process.arch}`,
        hint: 'build it for this processor, or run Node.js for the other one.',
      }
    }
    const missing = missingDependencies(path)
    if (missing.length > 0) {
      const names = missing.map(({ name, neededBy }) =>
        resolve(path) === neededBy ? name : `${name} (for ${neededBy})`,
      )
      return {
        sentence: `the library ${path} needs ${names.join(' and ')}, which can't be found`,
        hint: 'install what has it, or add its directory to LD_LIBRARY_PATH or to the library (-Wl,-rpath).',
      }
    }
    // The file here may be fine: the loader looked elsewhere.
    return basename(path) === path ? { ...refused, hint: `write ./${path} for the file in this directory.` } : refused
  } catch (error) {
    if (error instanceof BinaryFormatError) {
      return {
        sentence: error.sentence.replace(/^can't read/, "can't load"),
        ...(error.hint === undefined ? {} : { hint: error.hint }),
      }
    }
    return refused
  }
}
