import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Remembers of which inputs each file of a build directory was made, so that nothing is made twice. */
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

  /** Whether `output` (relative to the directory) exists and was made of inputs with this hash. */
  isCurrent(output: string, hash: string): boolean {
    return this.#stamps[output] === hash && existsSync(join(this.#directory, output))
  }

  /** Notes that `output` was made of inputs with this hash. */
  set(output: string, hash: string): void {
    this.#stamps[output] = hash
  }

  /** Writes the notes; a reader never sees half of them. */
  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true })
    const temporary = `${this.#path}.${process.pid}`
    writeFileSync(temporary, `${JSON.stringify(this.#stamps, null, 2)}\n`)
    renameSync(temporary, this.#path)
  }
}

/** A hash of parts, where `['ab', 'c']` and `['a', 'bc']` differ. */
export function hashOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}\0`).update(part)
  return hash.digest('hex')
}
