import { resolve } from 'node:path'
import { LoadError } from '@tenon/core'
import { Module, PackedFuncError } from '@tenon/packed-func'

/** Loads a library of packed functions. @throws {LoadError} with the system's words if it can't be loaded */
export function openModule(path: string): Module {
  try {
    return Module.load(resolve(path))
  } catch (error) {
    if (!(error instanceof PackedFuncError)) throw error
    throw new LoadError(error.sentence, { cause: error, details: { tried: [{ path, reason: error.sentence }] } })
  }
}
