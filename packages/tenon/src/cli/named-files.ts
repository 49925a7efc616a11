import { existsSync } from 'node:fs'
import { didYouMean } from '@tenon/core/internal'
import type { Parameter } from '@tenon/core'
import { UsageError } from './usage-error.ts'

/**
 * Distributes the values of `--arg` over the operands of a kernel: `x=x.npy` by name, others in order.
 *
 * @returns one entry for each operand: the paths, of which there are several only for a rest operand
 * @throws {UsageError} if an operand is given twice or a required one is missing
 */
export function assignOperands(kernel: string, operands: readonly Parameter[], args: readonly string[]): string[][] {
  const places = operands.map((): string[] => [])
  const unnamed: string[] = []
  for (const text of args) {
    const index = operands.findIndex(({ name }) => text.startsWith(`${name}=`))
    if (index === -1) unnamed.push(text)
    else places[index]!.push(text.slice(operands[index]!.name.length + 1))
  }
  const names = operands.map(({ name }) => name)
  const takes = `${kernel} takes ${names.length === 0 ? 'no operands' : `the operand${names.length === 1 ? '' : 's'} ${names.join(', ')}`}`
  const misnamed = unnamed.find(isMisnamed)?.split('=')[0]
  if (misnamed !== undefined) {
    throw new UsageError(`there is no operand ${misnamed}: ${takes}`, didYouMean(misnamed, names))
  }
  operands.forEach(({ kind }, index) => {
    const place = places[index]!
    if (kind === 'remaining') place.push(...unnamed.splice(0))
    else if (place.length === 0 && unnamed.length > 0) place.push(unnamed.shift()!)
  })
  if (unnamed.length > 0) throw new UsageError(`unexpected --arg ${unnamed[0]}: ${takes}`)
  operands.forEach(({ name, kind }, index) => {
    const count = places[index]!.length
    if (count > 1 && kind !== 'remaining') throw new UsageError(`--arg ${name} is given more than once`)
    if (count === 0 && kind === 'one')
      throw new UsageError(`${name} is missing: ${takes}`, `Pass --arg ${name}=${name}.npy.`)
  })
  return places
}

/** Whether a text has a name in front of a file, and is not itself the path of a file: `z=x.npy`. */
const isMisnamed = (text: string): boolean => /^[a-z_]\w*=/i.test(text) && !existsSync(text)

/**
 * The files of results by name, from `--out y=y.npy`. A kernel with one result takes `--out y.npy` as well.
 *
 * @throws {UsageError} if a name is unknown or given twice
 */
export function outputFiles(
  kernel: string,
  results: readonly Parameter[],
  out: readonly string[],
): Map<string, string> {
  const files = new Map<string, string>()
  const names = results.map(({ name }) => name)
  for (const text of out) {
    const equals = text.indexOf('=')
    const given = equals === -1 ? undefined : text.slice(0, equals)
    const isNamed = given !== undefined && names.includes(given)
    if (!isNamed && (names.length !== 1 || isMisnamed(text))) {
      throw new UsageError(
        `--out must be name=file.npy with a result of ${kernel} (${names.join(', ')}), got ${text}`,
        (given === undefined ? undefined : didYouMean(given, names)) ??
          (names.length === 0 ? undefined : `Write --out ${names[0]}=${names[0]}.npy.`),
      )
    }
    const name = isNamed ? given : names[0]!
    const path = isNamed ? text.slice(equals + 1) : text
    if (path === '') throw new UsageError(`--out ${text}: the file is missing`)
    if (files.has(name)) throw new UsageError(`--out ${name} is given more than once`)
    files.set(name, path)
  }
  return files
}
