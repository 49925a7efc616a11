import { LoadError } from '../../errors/kinds.ts'
import { loadedDriver } from '../core-library.ts'
import { checkKoffi } from '../driver/check-koffi.ts'
import { chosenKoffi, type Koffi } from '../driver/koffi.ts'

/**
 * Lets this thread load the core through a koffi, as `TENON_DRIVER=koffi` does, for programs whose koffi the core cannot find
 * itself, such as bundles. The variable `TENON_DRIVER` wins if it names another driver.
 *
 * @param koffi the module, as `import koffi from 'koffi'` gives it.
 * @throws {LoadError} if the version of koffi is not supported, or this thread has loaded the core in another way.
 * @throws {ArgumentError} if the value is not koffi.
 */
export function useKoffi(koffi: Koffi): void {
  checkKoffi(koffi)
  const driver = loadedDriver()
  if (driver !== undefined && driver.kind !== 'koffi') {
    throw new LoadError('useKoffi() must be called before the native core is loaded', {
      hint: 'Call it in the first module of the program, or set TENON_DRIVER=koffi.',
    })
  }
  chosenKoffi.koffi = koffi
}
