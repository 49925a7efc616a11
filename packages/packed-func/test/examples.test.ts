import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import * as packedFunc from '@tenon/packed-func'

const names = ['mylib.add', 'mylib.twice', 'mylib.scale', 'mylib.lookup']

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': core,
    '@tenon/packed-func': {
      ...packedFunc,
      Module: { open: loadForExamples },
      methodOf: () => packedFunc.getGlobal('ffi.List'),
    },
  },
  context() {
    for (const name of names) packedFunc.removeGlobal(name)
    packedFunc.registerGlobal('mylib.scale', (x: core.Tensor) => x)
    packedFunc.registerGlobal('mylib.lookup', () => {
      throw new packedFunc.PackedFuncError('KeyError', 'nothing there')
    })
    const lib = loadForExamples('./libpacked.so')
    return {
      lib,
      x: core.tensor('float32', [2], [1, 2]),
      y: core.tensor('float32', [2]),
      list: packedFunc.getGlobal('ffi.List')(1, 2),
      Index: {},
      index: 0,
      array: lib.get('echo')([1, 2]),
      take: lib.get('move_in'),
      scale: () => null,
      lookup: packedFunc.packedFunc(() => null),
      console: { log() {}, error() {} },
    }
  },
})

/** Opens the library of the workspace that an example names, such as `./libpacked.so`. */
function loadForExamples(path: string): packedFunc.Module {
  return packedFunc.Module.open(kernelLibrary(/^\.\/lib(\w+)\.so$/.exec(path)![1]!))
}
