import { LoadError } from '../../errors/kinds.ts'
import { runtime } from '../runtime.ts'
import type { KoffiDriver } from './driver-base.ts'
import { chosenKoffi, findKoffi, openKoffi } from './koffi.ts'
import { type ModuleDriver, modulePath, openModule } from './node-module.ts'

/** The connection between TypeScript and the core: `tenon.node`, or koffi where that module does not load. */
export type Driver = ModuleDriver | KoffiDriver

/**
 * Loads a library of the core, with the driver that `TENON_DRIVER` names, or with the first that loads.
 *
 * @throws {LoadError} if `TENON_DRIVER` is not valid, if the driver that it names does not load, or if the library has another
 * version. @throws the message of the system's loader if the library does not load.
 */
export function openDriver(core: string): Driver {
  const wanted = process.env['TENON_DRIVER'] ?? ''
  if (!['', 'node-api', 'koffi'].includes(wanted)) {
    throw new LoadError(`TENON_DRIVER must be "node-api" or "koffi", got ${JSON.stringify(wanted)}`, {
      hint: 'Remove the variable to use Node-API where it works.',
      details: { variable: 'TENON_DRIVER', value: wanted },
    })
  }
  if (wanted === '' && chosenKoffi.koffi !== undefined) {
    return openKoffi(chosenKoffi.koffi, core, 'the program has called useKoffi()')
  }
  if (wanted === 'koffi') {
    if (!runtime.hasKoffi) {
      throw new LoadError(`TENON_DRIVER is koffi, which does not run in ${runtime.name}`, {
        hint: 'Remove TENON_DRIVER to use Node-API.',
        details: { variable: 'TENON_DRIVER', value: wanted },
      })
    }
    const koffi = findKoffi()
    if (koffi !== undefined) return openKoffi(koffi, core, 'TENON_DRIVER is koffi')
    throw new LoadError('TENON_DRIVER is koffi, but koffi is not installed', {
      hint: 'Install koffi beside Tenon, for example with "npm install koffi", or remove TENON_DRIVER.',
      details: { variable: 'TENON_DRIVER', value: wanted },
    })
  }
  try {
    return openModule(core)
  } catch (cause) {
    if (cause instanceof LoadError) throw cause
    const reason = (cause as Error).message
    if (wanted === '') return openFallback(core, reason)
    const path = modulePath(core)
    throw new LoadError(`the Node-API module ${path} could not be loaded: ${reason}`, {
      hint: 'Install @tenon/core and its platform package in the same version, or remove TENON_DRIVER.',
      details: { path },
      cause,
    })
  }
}

function openFallback(core: string, reason: string): Driver {
  try {
    const koffi = runtime.hasKoffi ? findKoffi() : undefined
    if (koffi === undefined) throw new Error(runtime.hasKoffi ? 'koffi is not installed' : 'koffi does not run here')
    return openKoffi(koffi, core, reason)
  } catch (error) {
    if (error instanceof LoadError) throw error
    throw new Error(`${reason} (through koffi: ${(error as Error).message})`, { cause: error })
  }
}
