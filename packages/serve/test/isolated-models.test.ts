import { eventually } from '@tenon/config/eventually'
import { coreLibrary } from '@tenon/core/internal'
import { kernelLibrary } from '@tenon/kernels'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { Library, type IsolatedLibrary } from 'tenon'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineModel, type Model } from '../src/index.ts'
import { inferHead, input, Served } from './support.ts'

const signature = '(x: f32[n]) -> (y: f32[n])'

async function isolate(path: string): Promise<IsolatedLibrary> {
  const library = await Library.isolate(path, { restart: { limit: 100, window: 1000, backoff: 1 }, grace: 50 })
  onTestFinished(() => library.closeAsync())
  return library
}

/** A kernel that commits a fault, by the number in csrc/fixture/faulty/faults.h. */
function faulty(library: IsolatedLibrary, name: string, fault: number, deadline = 30_000): Model {
  const kernel = library.kernel('faulty')
  return defineModel({ name, kernel, attributes: { fault }, memory: library.memory, deadline })
}

const openFaulty = (): Promise<IsolatedLibrary> => isolate(join(dirname(coreLibrary().path), 'libfaulty.so'))

const request = { inputs: [input('x', 'FP32', [4], [1, 2, 3, 4])] }
const doubled = [200, { outputs: [{ name: 'y', datatype: 'FP32', shape: [4], data: [2, 4, 6, 8] }] }]

describe('models whose kernels run in processes of their own', () => {
  test('a kernel is described by its own signature, or by that of the model', async () => {
    const library = await isolate(kernelLibrary('kernels'))
    const kernel = library.kernel('softmax')
    expect(() => defineModel({ name: 'softmax', kernel })).toThrow(
      'x of the model softmax must have a fixed number of axes',
    )
    const model = defineModel({
      name: 'softmax',
      kernel,
      signature: '(x: f32[rows, columns]) -> (y: f32[rows, columns])',
      attributes: { temperature: 2 },
    })
    expect(() => defineModel({ name: 'softmax', kernel, signature, attributes: { hot: 2 } })).toThrow('hot')
    const served = await Served.start([model])
    const [status, json] = await served.infer('softmax', { inputs: [input('x', 'FP32', [1, 2], [0, 0])] })
    expect([status, json['outputs']]).toEqual([200, [{ name: 'y', datatype: 'FP32', shape: [1, 2], data: [0.5, 0.5] }]])
  })

  test('requests are read into the memory of the library, which is free again after the answer', async () => {
    const library = await openFaulty()
    const served = await Served.start([faulty(library, 'double', 0)])
    await served.infer('double', request)
    const before = library.memory.usage.usedBytes
    const values = new Float32Array(1 << 18).fill(1.5)
    const binary = {
      name: 'x',
      datatype: 'FP32',
      shape: [values.length],
      parameters: { binary_data_size: values.byteLength },
    }
    for (let i = 0; i < 20; i++) {
      const bytes = new Uint8Array(values.buffer)
      const reply = await served.inferBinary('double', { inputs: [binary], parameters: { binary_data_output: true } }, [
        bytes,
      ])
      expect([
        reply.status,
        new Float32Array(reply.body.buffer.slice(reply.body.byteOffset + reply.body.length - 4))[0],
      ]).toEqual([200, 3])
    }
    expect(library.metrics().copiedBytes).toBe(0)
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(before))
  })

  test('a kernel that crashes is a 500 of its request, without addresses, and the next request is answered', async () => {
    const library = await openFaulty()
    const faults = { segv: 1, abort: 2, exit: 4 }
    const served = await Served.start([
      faulty(library, 'double', 0),
      ...Object.entries(faults).map(([name, fault]) => faulty(library, name, fault)),
    ])
    expect(await served.infer('segv', request)).toEqual([500, { error: 'the model segv ended its process by SIGSEGV' }])
    expect(await served.infer('double', request)).toMatchObject(doubled)
    expect(await served.infer('abort', request)).toEqual([
      500,
      { error: 'the model abort ended its process by SIGABRT' },
    ])
    expect(await served.infer('exit', request)).toEqual([
      500,
      { error: 'the model exit ended its process with exit code 3' },
    ])
    expect(await served.infer('double', request)).toMatchObject(doubled)
    expect(served.errors).toHaveLength(3)
    expect(served.errors[0]).toMatchObject({ code: 'TENON_KERNEL_CRASH', details: { address: '0xdead000' } })
  })

  test('a kernel that ends its thread is a 500, and the state of the processor that one leaves is not found', async () => {
    const library = await openFaulty()
    const faults = { double: 0, thread: 15, state: 37 }
    const served = await Served.start(Object.entries(faults).map(([name, fault]) => faulty(library, name, fault)))
    for (let i = 0; i < 3; i++) {
      expect(await served.infer('state', request)).toMatchObject(doubled)
      expect(await served.infer('double', request)).toMatchObject(doubled)
      expect(await served.infer('thread', request)).toEqual([
        500,
        { error: 'the model thread ended its process with exit code 0' },
      ])
    }
  })

  test('a signature that is not that of the kernel is refused', async () => {
    const library = await openFaulty()
    const kernel = library.kernel('faulty')
    for (const other of [
      '(x: f32[n, m]) -> (y: f32[n, m])',
      '(x: f64[n]) -> (y: f64[n])',
      '(x: f32[n], z: f32[n]) -> (y: f32[n])',
      '(x: f32[n]) -> (y: f32[n], z: f32[n])',
    ]) {
      expect(() => defineModel({ name: 'm', kernel, signature: other, attributes: { fault: 0 } })).toThrow(
        /the signature of the model m must have the (operands|results) of its kernel[^]*The kernel has \(x: f32\[n\]\)/,
      )
    }
    defineModel({ name: 'm', kernel, signature: '(x: f32[rows]) -> (y: f32[rows])', attributes: { fault: 0 } })
  })

  test('an error that a kernel reports has its words', async () => {
    const served = await Served.start([faulty(await openFaulty(), 'failing', 24)])
    expect(await served.infer('failing', request)).toEqual([
      500,
      { error: 'the model failing failed: faulty answered FAILED_PRECONDITION: failed on purpose' },
    ])
  })

  test('a kernel that hangs is a 504 at its deadline, and its memory is free when its worker is gone', async () => {
    const library = await openFaulty()
    const served = await Served.start([faulty(library, 'double', 0), faulty(library, 'hang', 8, 100)])
    await served.infer('double', request)
    const before = library.memory.usage.usedBytes
    expect(await served.infer('hang', request)).toEqual([504, { error: 'the model hang did not answer within 100 ms' }])
    expect(await served.infer('double', request)).toMatchObject(doubled)
    await eventually(() => expect(library.memory.usage.usedBytes).toBe(before))
  })

  test('a client that leaves cancels its request, also one that waits', async () => {
    const library = await openFaulty()
    const served = await Served.start([faulty(library, 'patient', 25, 60_000), faulty(library, 'double', 0)])
    const json = JSON.stringify(request)
    const head = inferHead('patient', json.length)
    const sockets = Array.from({ length: 3 }, () => {
      const socket = connect(served.server.port, '127.0.0.1')
      socket.write(head + json)
      return socket
    })
    await eventually(() => expect(library.health().workers[0]!.state).toBe('running'))
    for (const socket of sockets) socket.destroy()
    expect(await served.infer('double', request)).toMatchObject(doubled)
  })
})
