import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { ObjectSample } from './measure-objects.ts'
import type { AliveRow } from './suite.ts'

/** What measures a row: one Node.js, or the Python that has NumPy. */
export interface Contestant {
  /** The name and the version: `Node 24.21.0`. */
  readonly name: string
  readonly isNumpy: boolean
  /** Measures a count of a row in a new process. @throws {Error} if the process fails or does not end. */
  readonly run: (file: string, row: AliveRow, alive: number) => Promise<ObjectSample>
}

/** The time after which a process is ended, in milliseconds. */
const LIMIT = 180_000

export function nodeContestant(node: string, version: string, fromSource: boolean): Contestant {
  const flags = ['--expose-gc', '--no-maglev', '--disable-warning=ExperimentalWarning']
  if (fromSource) flags.push('--conditions=@tenon/source')
  return {
    name: `Node ${version}`,
    isNumpy: false,
    run: async (file, row, alive) => {
      const args = [...flags, join(import.meta.dirname, 'child.ts'), file, row.name, String(alive)]
      const child = spawn(node, args, { stdio: ['ignore', 2, 2, 'ipc'], timeout: LIMIT })
      let sample: ObjectSample | undefined
      child.on('message', (message) => (sample = message as ObjectSample))
      await ended(child, `${row.name} with ${alive} alive`)
      if (sample === undefined) throw new Error(`${row.name} with ${alive} alive ended without a sample`)
      return sample
    },
  }
}

export function numpyContestant(python: string, version: string): Contestant {
  return {
    name: `NumPy ${version}`,
    isNumpy: true,
    run: async (_file, row, alive) => {
      const { make, setup = '' } = row.numpy!
      const args = [join(import.meta.dirname, 'numpy_objects.py'), JSON.stringify({ make, setup, alive })]
      const child = spawn(python, args, { stdio: ['ignore', 'pipe', 2], timeout: LIMIT })
      let text = ''
      child.stdout!.setEncoding('utf8').on('data', (part: string) => (text += part))
      await ended(child, `${make} with ${alive} alive`)
      return JSON.parse(text) as ObjectSample
    },
  }
}

function ended(child: ChildProcess, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${what} ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}
