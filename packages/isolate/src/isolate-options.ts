import { checkOptions, wrongType } from '@tenon/core/internal'
import type { WorkersOptions } from './host/options.ts'
import { WORKERS_OPTIONS } from './host/settings.ts'

/** The options of `Library.isolate()`. */
export interface IsolateOptions extends WorkersOptions {
  /**
   * Whether packed functions may call functions of this process that are among their arguments. Such a call runs on the thread
   * that made the isolated call, which must not be busy. The default is `refuse`.
   */
  readonly callbacks?: 'refuse' | 'relay'
}

/** The options of the workers, which they check themselves, and those of the library. */
export interface SplitOptions {
  readonly ofWorkers: WorkersOptions
  readonly isRelaying: boolean
  readonly isGuarded: boolean
  readonly isScript: boolean
}

/** Reads the options once. @throws {ArgumentError} */
export function splitOptions(options: IsolateOptions | undefined): SplitOptions {
  const { callbacks = 'refuse', ...ofWorkers } = {
    ...checkOptions(options, [...WORKERS_OPTIONS, 'callbacks'], 'the options of Library.isolate()'),
  }
  if (callbacks !== 'refuse' && callbacks !== 'relay') throw wrongType('callbacks', "'refuse' or 'relay'", callbacks)
  return {
    ofWorkers,
    isRelaying: callbacks === 'relay',
    isGuarded: ofWorkers.guard === true,
    isScript: ofWorkers.host === 'node',
  }
}
