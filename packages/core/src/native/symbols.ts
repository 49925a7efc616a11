import type { BindCore } from './core-call.ts'
import type { DriverBase } from './driver/driver-base.ts'

/** Returns the address of a symbol. @throws {Error} if the library does not export it. */
export type FindSymbol = (name: string) => number

/** The symbols of the library of the core. */
export function coreSymbols(driver: DriverBase, bind: BindCore): FindSymbol {
  const out = new BigUint64Array(1)
  if (bind(driver.openCore, 'int32_t')(driver.addressOf(out)) !== 0)
    throw new Error('the loader does not find it again')
  return symbolsOf(driver, bind, Number(out[0]))
}

/** The symbols of an open library. */
export function symbolsOf(driver: DriverBase, bind: BindCore, library: number): FindSymbol {
  const find = bind(driver.findSymbol, 'int32_t')
  const [text, out] = [Buffer.alloc(128), new BigUint64Array(1)]
  const [textAddress, outAddress] = [driver.addressOf(text), driver.addressOf(out)]
  return (name) => {
    const length = text.write(name)
    if (find(library, textAddress, length, outAddress) !== 0) throw new Error(`it does not export ${name}`)
    return Number(out[0])
  }
}
