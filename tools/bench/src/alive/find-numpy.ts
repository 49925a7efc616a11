import { spawnSync } from 'node:child_process'

/** A Python that can import NumPy. */
export interface Numpy {
  readonly python: string
  readonly version: string
}

/** Debian's Python is tried first, because its NumPy is the one that a system package installs. */
const PYTHONS = ['/usr/bin/python3', 'python3']

/** @throws {Error} with instructions if no Python has NumPy. */
export function findNumpy(pythons: readonly string[] = PYTHONS): Numpy {
  for (const python of pythons) {
    const result = spawnSync(python, ['-c', 'import numpy; print(numpy.__version__)'], { encoding: 'utf8' })
    if (result.status === 0) return { python, version: result.stdout.trim() }
  }
  throw new Error(
    `NumPy must be installed for ${pythons.join(' or ')}, but none of them can import it. Install it with ` +
      '`apt-get install python3-numpy`, or choose a Python that has it with --python <path>.',
  )
}
