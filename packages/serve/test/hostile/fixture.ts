import { coreLibrary } from '@tenon/core/internal'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

const libfaulty = join(dirname(coreLibrary().path), 'libfaulty.so')

/** A folder with models and objects of shared memory, which end with it. */
export class Fixture implements Disposable {
  readonly repository: string = mkdtempSync(join(tmpdir(), 'tenon-hostile-'))
  /** The start of the names of all objects. */
  readonly prefix: string

  constructor() {
    const unique = mkdtempSync('/dev/shm/hostile-')
    rmSync(unique, { recursive: true })
    this.prefix = basename(unique)
  }

  /** Adds a model whose kernel commits a fault, by the number in csrc/fixture/faulty/faults.h. @param fault or other contents of model.json. */
  addModel(name: string, fault: number | string, others: object = {}): void {
    const directory = join(this.repository, name)
    mkdirSync(join(directory, '1'), { recursive: true })
    const description = { library: basename(libfaulty), kernel: 'faulty', attributes: { fault }, ...others }
    writeFileSync(join(directory, 'model.json'), typeof fault === 'string' ? fault : JSON.stringify(description))
    copyFileSync(libfaulty, join(directory, '1', basename(libfaulty)))
  }

  /** Makes an object of shared memory. @returns its path. */
  addObject(name: string, bytes: Uint8Array): string {
    const path = `/dev/shm/${this.prefix}-${name}`
    writeFileSync(path, bytes)
    return path
  }

  /** Makes a link, a folder, a pipe and an empty object in the places of shared memory objects. */
  addOthers(): void {
    const start = `/dev/shm/${this.prefix}`
    symlinkSync(this.addObject('target', new Uint8Array(64)), `${start}-link`)
    mkdirSync(`${start}-folder`)
    execFileSync('mkfifo', [`${start}-pipe`])
    this.addObject('empty', new Uint8Array())
  }

  [Symbol.dispose](): void {
    rmSync(this.repository, { recursive: true })
    for (const name of readdirSync('/dev/shm')) {
      if (name.startsWith(this.prefix)) rmSync(`/dev/shm/${name}`, { recursive: true })
    }
  }
}
