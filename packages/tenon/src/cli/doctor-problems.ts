import type { CudaFacts, DoctorFacts, Failure } from './doctor-facts.ts'
import type { SystemFacts } from './system-facts.ts'

/** A finding that has a fix. An `error` prevents use, and a `warning` limits it. */
export interface Problem {
  readonly level: 'error' | 'warning'
  readonly text: string
  readonly fix: string
}

/** Each driver, watch and shared block of memory needs descriptors. */
const FEWEST_OPEN_FILES = 1024

/** The default of Linux. Guarded memory takes two mappings for each allocation. */
const FEWEST_MAPPINGS = 65_530

/** Returns the problems that the facts show, errors first. */
export function problemsOf(facts: DoctorFacts): Problem[] {
  const { runtime, core, driver, cuda, system, environment } = facts
  const found = [
    ...nodeProblems(runtime),
    ...('error' in core ? [failed(core, 'Reinstall the package @tenon/core.')] : []),
    ...(driver === undefined ? [] : driverProblems(driver, environment)),
    ...limitProblems(system.limits),
    ...(system.hasFilters === false ? [NO_FILTERS] : []),
    ...(cuda === undefined ? [] : cudaProblems(cuda)),
  ]
  const ofLevel = (level: Problem['level']): Problem[] => found.filter((problem) => problem.level === level)
  return [...ofLevel('error'), ...ofLevel('warning')]
}

const failed = ({ error, hint }: Failure, otherwise: string): Problem => ({
  level: 'error',
  text: error,
  fix: hint ?? otherwise,
})

const warning = (text: string, fix: string): Problem => ({ level: 'warning', text, fix })

const NO_FILTERS = warning(
  'workers of Library.isolate() run without a filter of system calls, which this system does not have',
  'Use a kernel of Linux with CONFIG_SECCOMP_FILTER, or isolate in containers or virtual machines.',
)

function nodeProblems({ version, required }: DoctorFacts['runtime']): Problem[] {
  if (required === undefined) return []
  const [major, minor] = numbersOf(version)
  const [leastMajor, leastMinor] = numbersOf(required)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return []
  const least = `${leastMajor}.${leastMinor}`
  return [
    {
      level: 'error',
      text: `Node.js must be ${least} or later, got ${version}`,
      fix: `Install Node.js ${least} or later.`,
    },
  ]
}

function numbersOf(version: string): [major: number, minor: number] {
  const [major = 0, minor = 0] = (version.match(/\d+/g) ?? []).map(Number)
  return [major, minor]
}

function driverProblems(
  driver: NonNullable<DoctorFacts['driver']>,
  environment: DoctorFacts['environment'],
): Problem[] {
  if ('error' in driver) return [failed(driver, 'Reinstall the package @tenon/core.')]
  const problems: Problem[] = []
  const { kind, reason = 'the reason is not known', threads } = driver
  if (kind === 'koffi' && environment['TENON_DRIVER'] !== 'koffi') {
    problems.push(
      warning(
        `native code is called through koffi, which is slower, because the Node-API module does not load: ${reason}`,
        'Install @tenon/core and its platform package in the same version.',
      ),
    )
  }
  if (threads.limit === 0) {
    const value = JSON.stringify(environment['TENON_THREADS'])
    problems.push({
      level: 'error',
      text: `TENON_THREADS must be an integer from 1 to 1024, got ${value}`,
      fix: 'Set it to the number of threads for asynchronous calls, or remove it.',
    })
  }
  return problems
}

function limitProblems({ openFiles, mappings }: SystemFacts['limits']): Problem[] {
  const problems: Problem[] = []
  if (openFiles !== undefined && openFiles.soft !== 'unlimited' && openFiles.soft < FEWEST_OPEN_FILES) {
    problems.push(
      warning(
        `the process can have only ${openFiles.soft} open descriptors, which memory pools and drivers need`,
        `Raise the limit, for example with "ulimit -n ${FEWEST_OPEN_FILES * 4}", or with LimitNOFILE= in a systemd unit.`,
      ),
    )
  }
  if (mappings !== undefined && mappings < FEWEST_MAPPINGS) {
    problems.push(
      warning(
        `the process can have only ${mappings} memory mappings, of which guarded memory takes two for each allocation`,
        `Raise the limit with "sysctl vm.max_map_count=${FEWEST_MAPPINGS}".`,
      ),
    )
  }
  return problems
}

/** A machine without a GPU has no problem. */
function cudaProblems({ driver, isExpected }: CudaFacts): Problem[] {
  if (!isExpected) return []
  if ('error' in driver) return [warning(driver.error, driver.hint ?? "Install NVIDIA's driver.")]
  if (driver.deviceCount > 0) return []
  return [
    warning(
      'the CUDA driver finds no device',
      'Check the variable CUDA_VISIBLE_DEVICES, and compare with the output of nvidia-smi.',
    ),
  ]
}
