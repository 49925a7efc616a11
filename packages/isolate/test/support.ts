import { readdirSync, readFileSync } from 'node:fs'
import { coreFunctions, type RemoteAnswer } from '@tenon/core/internal'

/** What an isolated library uses of this process. */
export interface Usage {
  readonly descriptors: number
  readonly mappings: number
  readonly children: number
  readonly hosts: number
  readonly unreaped: number
}

export function usage(): Usage {
  const { tn_host_live, tn_host_unreaped } = coreFunctions()
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.includes('tenon-command')).length,
    children: readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').length,
    hosts: Number(tn_host_live()),
    unreaped: Number(tn_host_unreaped()),
  }
}

/** Whether a process runs. Zombies do not. */
export function isRunning(process: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${process}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** What errors of calls have. */
export interface Failure extends Error {
  readonly code: string
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>> & { readonly output: string; readonly elapsed: number }
  readonly answer: RemoteAnswer
}

/** Takes the error of something that fails. */
export async function failureOf(what: Promise<unknown> | (() => unknown)): Promise<Failure> {
  try {
    await (typeof what === 'function' ? what() : what)
  } catch (error) {
    return error as Failure
  }
  throw new Error('the call did not fail')
}
