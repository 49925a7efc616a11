import type { DoctorFacts } from './doctor-facts.ts'
import type { Problem } from './doctor-problems.ts'
import type { Limit } from './system-facts.ts'
import { printable, type Style } from './terminal.ts'

/** Formats the facts as rows, and then the problems, each with its fix. */
export function doctorText(facts: DoctorFacts, problems: readonly Problem[], style: Style): string {
  const rows = [
    ...hostRows(facts),
    ...coreRows(facts),
    ...limitRows(facts),
    ...cudaRows(facts),
    ...Object.entries(facts.environment),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    style.strong(`tenon ${facts.tenon}`),
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${printable(text)}`),
    '',
    ...(problems.length === 0 ? ['No problems were found.'] : problemLines(problems, style)),
  ].join('\n')
}

type Row = readonly [name: string, text: string]

function hostRows({ runtime, system: { os, cpu, libc } }: DoctorFacts): Row[] {
  const library = libc === undefined ? '' : `, ${libc.name} ${libc.version ?? '(unknown version)'}`
  return [
    [runtime.name, `${runtime.version} (${runtime.path})`],
    ...row('not there', runtime.missing.length && `${runtime.name} ${runtime.missing.join(', ')}`),
    ['system', `${os} ${cpu}${library}`],
  ]
}

function coreRows({ core, driver }: DoctorFacts): Row[] {
  if ('error' in core) return [['core', 'not loaded']]
  const rows: Row[] = [
    ['core', `${core.version}, ABI version ${core.abiVersion}`],
    ['core file', `${core.path} (${core.origin})`],
  ]
  if (driver === undefined || 'error' in driver) return [...rows, ['calls', 'not possible']]
  const { kind, reason, abi, stubs, threads } = driver
  return [
    ...rows,
    ['calls', `${kind}, ${abi}${reason === undefined ? '' : `, because ${reason}`}`],
    ['callbacks', `${stubs.live} alive, ${stubs.dead} dead, at most ${stubs.limit}, ${stubs.refused} calls refused`],
    ...row(
      'threads',
      threads.limit && `at most ${threads.limit}, ${threads.running} calls run, ${threads.queued} wait`,
    ),
  ]
}

function limitRows({ system: { limits } }: DoctorFacts): Row[] {
  const { openFiles, lockedMemory, mappings, sharedMemory } = limits
  return [
    ...row('open files', openFiles && limitText(openFiles, String)),
    ...row('locked memory', lockedMemory && limitText(lockedMemory, sizeText)),
    ...row('mappings', mappings && `at most ${mappings}`),
    ...row('/dev/shm', sharedMemory && `${sizeText(sharedMemory.size)}, ${sizeText(sharedMemory.free)} free`),
  ]
}

function cudaRows({ cuda }: DoctorFacts): Row[] {
  if (cuda === undefined) return []
  if ('error' in cuda.driver) return [['CUDA', 'not available']]
  const { path, version, deviceCount } = cuda.driver
  return [['CUDA', `${version} (${path}), ${deviceCount} ${deviceCount === 1 ? 'device' : 'devices'}`]]
}

const row = (name: string, text: string | 0 | undefined): Row[] => (text ? [[name, text]] : [])

function limitText({ soft, hard }: Limit, format: (value: number) => string): string {
  const text = (value: number | 'unlimited'): string => (value === 'unlimited' ? value : format(value))
  return soft === hard ? text(soft) : `${text(soft)}, can be raised to ${text(hard)}`
}

/** Formats a number of bytes with the largest unit of which there is one. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const unit = Math.min(Math.max(Math.floor(Math.log2(bytes) / 10), 0), units.length - 1)
  return `${Number((bytes / 1024 ** unit).toFixed(1))} ${units[unit]}`
}

function problemLines(problems: readonly Problem[], style: Style): string[] {
  return problems.flatMap(({ level, text, fix }) => [
    `${level === 'error' ? style.bad(level) : style.strong(level)}: ${printable(text)}`,
    `  fix: ${printable(fix)}`,
  ])
}
