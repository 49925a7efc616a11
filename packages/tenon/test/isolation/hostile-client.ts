/** The client of workers that attack it. */
import { readFileSync } from 'node:fs'
import { Library, tensor, TenonError, type Tensor } from 'tenon'
import { processFacts, remainingSince } from './process-facts.ts'

/** An attack, and the seeds with which it is tried. */
export interface HostileTries {
  readonly library: string
  readonly attack: string
  readonly seeds: readonly number[]
}

/** What tries have shown. All lists are empty if the client withstands the attack. */
export interface HostileReport {
  readonly tries: number
  /** The numbers of tries by the code of the error, or `result`. */
  readonly outcomes: Record<string, number>
  /** Errors that are no `TenonError`. */
  readonly foreign: string[]
  /** Tries after which a call of a new worker was wrong. */
  readonly broken: string[]
  /** What was left when the libraries were closed. */
  readonly left: string[]
}

type HostileLibrary = Awaited<ReturnType<typeof Library.isolate>>

const x = tensor([1, 2, 3])
const isTwice = (y: Tensor): boolean => y.toArray().join() === '2,4,6'

/** Runs one attack in one of the forms of a call. Returns the errors of all its calls. */
async function attackOnce(library: HostileLibrary, attack: string, seed: number): Promise<unknown[]> {
  const [hostile, packed, honest] = [
    library.kernel('hostile'),
    library.packed('hostile_packed'),
    library.kernel('honest'),
  ]
  const errors: unknown[] = []
  const note = (error: unknown): void => void errors.push(error)
  try {
    if (seed % 5 === 0) hostile(x, { attack, seed })
    else if (seed % 5 === 1) await hostile.async(x, { attack, seed })
    else if (seed % 5 === 2) packed(attack, seed, [1, 'two', x])
    else if (seed % 5 === 3) await packed.async(attack, seed, x)
    else {
      const settled = await honest.batch([[x], [x]])
      const attacks = await hostile.batch([
        [x, { attack, seed }],
        [x, { attack, seed: seed + 1 }],
        [x, { attack, seed }],
      ])
      for (const one of [...settled, ...attacks]) if (one.status === 'rejected') note(one.reason)
    }
  } catch (error) {
    note(error)
  }
  return errors
}

/** Whether a worker computes the right result after at most a few that were damaged by the attack. */
async function recovers(library: HostileLibrary): Promise<boolean> {
  const honest = library.kernel('honest')
  for (let i = 0; i < 6; i++) {
    try {
      if (isTwice(i % 2 === 0 ? honest(x) : await honest.async(x))) return true
    } catch (error) {
      if (!(error instanceof TenonError)) throw error
    }
  }
  // A worker whose memory was overwritten may answer wrongly for ever. A new one does not.
  await library.restart()
  return isTwice(honest(x)) && isTwice(await honest.async(x))
}

/** Runs all tries in one library, whose workers are replaced after each crash. */
async function attackAll(tries: HostileTries, report: HostileReport): Promise<void> {
  const { attack, seeds } = tries
  const library = await open(tries)
  for (const seed of seeds) {
    const errors = await attackOnce(library, attack, seed)
    const codes = errors.map((error) => (error instanceof TenonError ? error.code : 'foreign'))
    for (const code of codes.length === 0 ? ['result'] : codes) report.outcomes[code] = (report.outcomes[code] ?? 0) + 1
    for (const error of errors) if (!(error instanceof TenonError)) report.foreign.push(`${seed}: ${textOf(error)}`)
    try {
      if (!(await recovers(library))) report.broken.push(`${seed}: wrong result`)
    } catch (error) {
      report.broken.push(`${seed}: ${textOf(error)}`)
    }
  }
  await library.closeAsync()
}

const textOf = (error: unknown): string => (error instanceof Error ? error.stack! : String(error))

const open = ({ library }: HostileTries): Promise<HostileLibrary> =>
  Library.isolate(library, { deadline: 400, grace: 20, restart: { limit: 1e6, window: 1000, backoff: 1 } })

/** The limits of this process, and the priority, the policy of scheduling and the processors of its first thread. */
function resourceLimits(): string {
  // The name of the program, which may contain spaces, ends with the last parenthesis. Fields are numbered from 1 (proc_pid_stat(5)).
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ')
  const [nice, policy] = [fields[19 - 3], fields[41 - 3]]
  const processors = /^Cpus_allowed_list:.*$/m.exec(readFileSync('/proc/self/status', 'utf8'))![0]
  return `nice ${nice}, policy ${policy}, ${processors}\n${readFileSync('/proc/self/limits', 'utf8')}`
}

export async function main(tries: HostileTries): Promise<HostileReport> {
  const report: HostileReport = { tries: tries.seeds.length, outcomes: {}, foreign: [], broken: [], left: [] }
  // What the first library keeps for the process is no leak.
  await (await open(tries)).closeAsync()
  const limits = resourceLimits()
  const before = await processFacts()
  await attackAll(tries, report)
  report.left.push(...(await remainingSince(before, ['descriptors', 'children'])))
  const now = resourceLimits()
  if (now !== limits) report.left.push(`other limits: ${now}`)
  return report
}
