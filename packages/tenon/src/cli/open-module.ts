import { resolve } from 'node:path'
import { LoadError } from '@tenon/core'
import { Module, PackedFuncError } from '@tenon/packed-func'

/** @throws {LoadError} with the loader's message if the library cannot be loaded */
export function openModule(path: string): Module {
  try {
    return Module.open(resolve(path))
  } catch (error) {
    if (!(error instanceof PackedFuncError)) throw error
    throw new LoadError(error.sentence, { cause: error, details: { tried: [{ path, reason: error.sentence }] } })
  }
}
