import { packageEntry, packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { fillStack, isOwnLibrary } from './support.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const entry = JSON.stringify(packageEntry(new URL('..', import.meta.url)))

/** Prints the number of native objects that 1000 closed functions leave after calls for which the stack had no room. */
const PROGRAM = `
  const { Module, packedFunc } = await import(${entry})
  const { tensor } = await import('@tenon/core')
  const { libraryFunctions } = await import('@tenon/core/internal')
  const kernels = Module.open(${JSON.stringify(kernelLibrary('packed'))})
  const [typeIndex, sum, call] = ['type_index', 'sum', 'call'].map((name) => kernels.get(name))
  const objects = () => Number(libraryFunctions('tvm_ffi').tn_tvm_live_objects())
  ${fillStack.toString()}
  const x = tensor([1, 2, 3])
  for (let i = 0; i < 5; i++) {
    fillStack(() => typeIndex(x))
    fillStack(() => sum(x, x, x, x))
    fillStack(() => call(() => 0, 1))
  }
  typeIndex(x)
  const before = objects()
  for (let i = 0; i < 1000; i++) packedFunc(() => i).close()
  console.log(objects() - before)
`

it.skipIf(!isOwnLibrary).each(['node-api', 'koffi'])(
  'functions are released when they are closed, after the stack of JavaScript was full, through %s',
  async (driver) => {
    const nodeOptions = [...packageFlags, '--no-warnings']
    const result = await runScript(PROGRAM, { cwd: root, nodeOptions, env: { TENON_DRIVER: driver } })
    expect(result).toMatchObject({ code: 0, stdout: '0\n', stderr: '' })
  },
)
