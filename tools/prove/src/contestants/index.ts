import type { Contestant } from '../contestant.ts'
import { addon } from './addon.ts'
import { bunFfi } from './bun-ffi.ts'
import { childProcess } from './child-process.ts'
import { denoFfi } from './deno-ffi.ts'
import { ffiRs } from './ffi-rs.ts'
import { koffi } from './koffi.ts'
import { nodeFfi } from './node-ffi.ts'
import { onnxruntime } from './onnxruntime.ts'
import { piscina } from './piscina.ts'
import { tenonIsolated } from './tenon-isolated.ts'
import { tenon } from './tenon.ts'

/** Tenon in both of its modes, then its rivals, in the order of the tables. */
export const contestants: readonly Contestant[] = [
  tenon,
  tenonIsolated,
  koffi,
  ffiRs,
  nodeFfi,
  bunFfi,
  denoFfi,
  addon,
  piscina,
  childProcess,
  onnxruntime,
]
