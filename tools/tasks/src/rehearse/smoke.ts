import { usingProgram as program } from './use-everywhere.ts'

/** A program for each package, which uses native code of the package where it has any. */
export const smokePrograms: Readonly<Record<string, string>> = {
  '@tenon/core': program(
    `import { tensor } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'`,
    `equal(tensor('f32', [2], [1, 2]).toArray(), [1, 2])
equal(coreLibrary().origin, 'platform package')`,
  ),
  '@tenon/scope': program(
    `import { NativeScope, toCString } from '@tenon/scope'
import { Linker, SymbolLookup } from '@tenon/scope/linker'`,
    `const strlen = Linker.downcall(SymbolLookup.ofProcess().get('strlen'), { result: 'uint64', parameters: ['pointer'] })
const scope = NativeScope.ofConfined()
equal(Number(strlen(toCString('hello', scope))), 5)
scope.close()`,
  ),
  '@tenon/custom-call': program(
    `import { f32, registeredNames } from '@tenon/custom-call'`,
    `equal(Array.from(f32([2]).shape), [2])
equal(Array.isArray(Array.from(registeredNames())), true)`,
  ),
  '@tenon/packed-func': program(
    `import { packedFunc } from '@tenon/packed-func'`,
    `const twice = packedFunc((x) => 2 * x)
equal(twice(21), 42)`,
  ),
  '@tenon/tstring': program(
    `import { StringTensor } from '@tenon/tstring'`,
    `equal(StringTensor.from(['a', 'b']).indexOf('b'), 1)`,
  ),
  '@tenon/tensorflow': program(
    `import { TensorFlowError } from '@tenon/tensorflow'`,
    `equal(TensorFlowError.kind, 'TensorFlowError')`,
  ),
  '@tenon/arrow': program(
    `import { tensor } from '@tenon/core'
import { exportBatch, importBatch } from '@tenon/arrow'`,
    `const exported = exportBatch({ x: tensor([1, 2]) })
const batch = importBatch(exported.schema, exported.array)
equal(batch.column('x').tensor().toArray(), [1, 2])
batch.close()
exported.close()`,
  ),
  '@tenon/weights': program(
    `import { encodeNpy, decodeNpy } from '@tenon/weights'
import { tensor } from '@tenon/core'`,
    `equal(decodeNpy(encodeNpy(tensor([1, 2]))).toArray(), [1, 2])`,
  ),
  '@tenon/pools': program(
    `import { createPool } from '@tenon/pools'`,
    `const pool = createPool(4096)
pool.write(0, new Float32Array([-1, 2]))
equal(Array.from(new Float32Array(pool.read(0, 8).buffer)), [-1, 2])
pool.close()`,
  ),
  '@tenon/isolate': program(
    `import { Workers } from '@tenon/isolate/internal'`,
    `const workers = await Workers.open()
equal(workers.health().state, 'ready')
await workers.closeAsync()`,
  ),
  '@tenon/nnapi': program(
    `import { buildModel, operandSlice, spawnDriver } from '@tenon/nnapi'
import { createPool } from '@tenon/pools'`,
    `const model = buildModel((g) => {
  const x = g.input('TENSOR_FLOAT32', [2])
  g.output(g.operation('RELU', [x], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
})
const driver = await spawnDriver()
const prepared = await driver.prepare(model)
const pool = createPool(4096)
pool.write(0, new Float32Array([-1, 2]))
prepared.run({ inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(1024, 8)] })
equal(Array.from(new Float32Array(pool.read(1024, 8).buffer)), [0, 2])
await driver.closeAsync()
model.close()
pool.close()`,
  ),
  '@tenon/serve': program(
    `import { createServer } from '@tenon/serve'`,
    `const server = await createServer({ models: [], http: { port: 0 } })
equal((await fetch(\`http://127.0.0.1:\${server.port}/v2/health/live\`)).status, 200)
await server.closeAsync()`,
  ),
  tenon: program(
    `import { tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'`,
    `equal(tensor([1, 2]).toArray(), [1, 2])
NativeScope.ofConfined().close()`,
  ),
}
