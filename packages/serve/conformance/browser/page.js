/** The page of `pnpm test:browser`. It calls a server of another origin, and sends what came of each check to its own server. */
const { createClient } = await import(new URL('/client.js', location.href))

const parameters = new URLSearchParams(location.search)
const client = createClient(parameters.get('server'), { deadline: 10_000 })

const equal = (actual, expected) => {
  const text = (value) =>
    JSON.stringify(value, (_, one) => {
      if (typeof one === 'bigint') return `${one}n`
      return ArrayBuffer.isView(one) ? [one.constructor.name, ...one] : one
    })
  if (text(actual) !== text(expected)) throw new Error(`expected ${text(expected)}, got ${text(actual)}`)
}

const codeOf = async (promise) => {
  try {
    await promise
  } catch (error) {
    return error.code ?? error.name
  }
  return 'answered'
}

const checks = {
  'infers with nested arrays': async () => {
    const { y } = await client.infer('double', { x: [[1, 2, 3, 4]] })
    equal([y.dtype, y.shape, y.data], ['float32', [1, 4], new Float32Array([2, 4, 6, 8])])
  },
  'infers a MiB with a TypedArray': async () => {
    const data = new Float32Array(2 ** 18).map((_, i) => i)
    const { y } = await client.infer('double', { x: { shape: [2 ** 16, 4], data } })
    equal([y.data.length, y.data.at(-1)], [2 ** 18, 2 * (2 ** 18 - 1)])
  },
  'infers with integers of 64 bits': async () => {
    const { y } = await client.infer('echo_int64', { x: [2n ** 62n + 1n] })
    equal(y.data, new BigInt64Array([2n ** 62n + 1n]))
  },
  'infers with strings': async () => {
    const { y } = await client.infer('echo_string', { x: ['ä', ''] })
    equal(y.data, ['ä', ''])
  },
  'says whether the server lives and is ready': async () => {
    equal([await client.live(), await client.ready(), await client.ready('none')], [true, true, false])
  },
  'reads metadata, configuration and statistics': async () => {
    const { inputs } = await client.metadata('double')
    equal(inputs, [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }])
    equal((await client.config('double')).name, 'double')
    equal((await client.statistics('double')).model_stats.length, 1)
  },
  'errors have their codes': async () => {
    equal(await codeOf(client.infer('none', {})), 'TENON_MODEL_NOT_FOUND')
    equal(await codeOf(client.infer('double', { x: [[1]] })), 'TENON_INVALID_REQUEST')
    equal(await codeOf(client.infer('double', { x: ['a'] })), 'TENON_ARGUMENT')
    equal(await codeOf(client.infer('slow', { x: [1] }, { deadline: 50 })), 'TENON_KERNEL_DEADLINE')
  },
  'a signal ends a request': async () => {
    equal(await codeOf(client.infer('slow', { x: [1] }, { signal: AbortSignal.timeout(50) })), 23)
  },
  'the trace of a request crosses': async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const { y } = await client.infer('trace', { x: [1] }, { traceparent })
    equal(y.data, [traceparent])
  },
  'has the answers of a stream in a loop': async () => {
    const seen = []
    for await (const { i } of client.stream('count', { n: [3] })) seen.push(i.data[0])
    equal(seen, [0, 1, 2])
    equal(await codeOf(client.stream('none', {}).next()), 'TENON_MODEL_NOT_FOUND')
  },
  'ends the generator of the server when a loop is left, and when a signal is aborted': async () => {
    const ended = async () => (await client.infer('ended', { x: [0] })).y.data[0]
    const until = async (expected) => {
      while ((await ended()) !== expected) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for await (const { y } of client.stream('endless', { x: [1] })) {
      equal(y.data.length, 1000)
      break
    }
    await until(1)
    const controller = new AbortController()
    let taken = 0
    const loop = async () => {
      for await (const _ of client.stream('endless', { x: [1] }, { signal: controller.signal })) {
        if (++taken === 3) controller.abort(new RangeError('enough'))
      }
    }
    equal([await codeOf(loop()), taken], ['RangeError', 3])
    await until(2)
  },
  'has sequences': async () => {
    const sum = async (x, place) => {
      const sequence = { id: 2n ** 63n + 1n, ...place }
      return (await client.infer('sum', { x: [x] }, { sequence })).y.data[0]
    }
    equal([await sum(1, { start: true }), await sum(2), await sum(3, { end: true })], [1, 3, 6])
    equal(await codeOf(sum(4)), 'TENON_INVALID_REQUEST')
  },
  'a server that does not allow the page does not answer': async () => {
    const other = createClient(parameters.get('other'), { retries: 0 })
    equal(await codeOf(other.metadata()), 'TENON_MODEL_UNAVAILABLE')
  },
  'ends after its requests': async () => {
    const running = client.infer('slow', { x: [1] })
    await client.closeAsync()
    equal((await running).y.data, new Float32Array([1]))
    equal(await codeOf(client.metadata()), 'TENON_SCOPE_CLOSED')
  },
}

const outcomes = []
for (const [name, run] of Object.entries(checks)) {
  const start = performance.now()
  let problem
  try {
    await run()
  } catch (error) {
    problem = String(error)
  }
  outcomes.push({ name, problem, milliseconds: performance.now() - start })
}
await fetch('/outcomes', { method: 'POST', body: JSON.stringify(outcomes) })
