import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The hashes of the inputs of each file in a build directory, so that no file is built twice. */
export class Stamps {
  readonly #directory: string
  readonly #path: string
  readonly #stamps: Record<string, string>

  constructor(directory: string) {
    this.#directory = directory
    this.#path = join(directory, 'stamps.json')
    this.#stamps = existsSync(this.#path)
      ? (JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, string>)
      : {}
  }

  /** Whether `output` (relative to the directory) exists and was built from inputs with this hash. */
  isCurrent(output: string, hash: string): boolean {
    return this.#stamps[output] === hash && existsSync(join(this.#directory, output))
  }

  set(output: string, hash: string): void {
    this.#stamps[output] = hash
  }

  /** Writes the file of hashes, which is replaced as a whole. */
  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true })
    const temporary = `${this.#path}.${process.pid}`
    writeFileSync(temporary, `${JSON.stringify(this.#stamps, null, 2)}\n`)
    renameSync(temporary, this.#path)
  }
}

/** Hashes a list of parts, so that `['ab', 'c']` and `['a', 'bc']` differ. */
export function hashOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}\0`).update(part)
  return hash.digest('hex')
}
