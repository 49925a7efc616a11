import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatSignature } from '@tenon/core'
import { readBinary } from '@tenon/binary'
import { readSignatures, type FoundSignature } from '../src/signatures/read-signatures.ts'
import { sidecarPath } from '../src/signatures/sidecar.ts'

const include = fileURLToPath(new URL('../../core/include', import.meta.url))

/** Compiles a library with the macros of tenon/signature.h and tenon/xla_mark.h. */
export function compileLibrary(
  directory: string,
  source: string,
  name = 'libkernels.so',
  language: 'c' | 'cc' = 'c',
  ...flags: string[]
): string {
  const path = join(directory, name)
  const file = `${path}.${language}`
  writeFileSync(file, `#include <tenon/signature.h>\n#include <tenon/xla_mark.h>\n${source}`)
  const [compiler, ...standard] =
    language === 'c' ? [process.env['CC'] ?? 'cc'] : [process.env['CXX'] ?? 'c++', '-std=c++17']
  execFileSync(compiler, [...standard, '-shared', '-fPIC', '-I', include, '-o', path, file, ...flags])
  return path
}

export function signaturesOf(path: string, metadata?: (name: string) => string | undefined): FoundSignature[] {
  return readSignatures(path, readBinary(path), metadata === undefined ? {} : { metadata })
}

/** Name, convention, source and text of each kernel. */
export function summary(found: readonly FoundSignature[]): string[] {
  return found.map(({ signature }) =>
    [signature.name, signature.convention, signature.source, formatSignature(signature)].join(' | '),
  )
}

/** Writes the sidecar of a library, as it is or as JSON. */
export function writeSidecar(library: string, content: unknown): string {
  const path = sidecarPath(library)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
