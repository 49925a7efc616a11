import { ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

/** The command before a program that has a mutant. */
export type Confinement = readonly string[]

const namespaces = ['--pid', '--fork', '--kill-child', '--mount-proc']

/** A mutant may ask for any amount of memory: it is the first that the system ends if there is too little. Files have blocks of 512 bytes. */
const limits = 'ulimit -c 0; ulimit -f 2097152; echo 1000 > /proc/self/oom_score_adj; exec "$@"'

/**
 * Finds a way to run programs that may send a signal to any process: in a namespace of processes, all of which end with the program.
 *
 * @throws {ToolError} if this system has none.
 */
export async function findConfinement(): Promise<Confinement> {
  const candidates = [
    ['unshare', ...namespaces],
    ['unshare', '--user', '--map-root-user', ...namespaces],
  ]
  for (const candidate of candidates) {
    const [file, ...args] = candidate
    const result = await runCommand(file!, [...args, 'true']).catch(() => undefined)
    if (result?.code === 0) return [...candidate, 'sh', '-c', limits, 'sh']
  }
  throw new ToolError(
    'programs with mutants may end any process, so they need unshare(1) and a namespace of processes (Linux)',
  )
}
