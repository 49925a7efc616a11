import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { hashOf } from '@tenon/build/internal'

import { mutantKey } from './mutant.ts'
import type { NumberedMutant } from './render.ts'

/** The mutants that the compiler refused, for each content of a file. Finding them takes longer than compiling the others. */
export class Refusals {
  readonly #path: string
  readonly #headers: string
  readonly #before: Record<string, string[]>
  readonly #now: Record<string, string[]> = {}

  /** @param headers the hash of all headers. */
  constructor(directory: string, headers: string) {
    this.#path = join(directory, 'refused-mutants.json')
    this.#headers = headers
    this.#before = existsSync(this.#path)
      ? (JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, string[]>)
      : {}
  }

  /** Returns the mutants that an earlier run accepted, or undefined if none has compiled this content. */
  find(source: string, mutants: readonly NumberedMutant[]): NumberedMutant[] | undefined {
    const keys = this.#before[this.#hash(source, mutants)]
    if (keys === undefined) return undefined
    const refused = new Set(keys)
    return mutants.filter((mutant) => !refused.has(mutantKey(mutant)))
  }

  add(source: string, mutants: readonly NumberedMutant[], accepted: readonly NumberedMutant[]): void {
    const kept = new Set(accepted)
    this.#now[this.#hash(source, mutants)] = mutants.filter((mutant) => !kept.has(mutant)).map(mutantKey)
  }

  /** Writes what was found. Other contents of the same files are kept, because another run may have other files. */
  save(): void {
    writeFileSync(this.#path, JSON.stringify({ ...this.#before, ...this.#now }))
  }

  #hash(source: string, mutants: readonly NumberedMutant[]): string {
    return hashOf([this.#headers, source, ...mutants.map(mutantKey)])
  }
}
