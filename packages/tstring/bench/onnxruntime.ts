/**
 * `pnpm --filter @tenon/tstring onnxruntime` checks the column of onnxruntime-node in the README's table. The library has 290 MB,
 * so it is not a dependency. It is installed into a temporary folder, without its install script.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StringTensor } from '@tenon/tstring'
import protobuf from 'protobufjs'
import { asciiStrings, FEWER } from './strings.ts'

const VERSION = '1.30.0'

/** The part of onnxruntime-node that is used here. */
interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array): Promise<{ run(feeds: object): Promise<Record<string, { readonly data: string[] }>> }>
  }
  readonly Tensor: new (type: 'string', data: readonly unknown[], shape: readonly number[]) => object
}

/** A model whose output is its input, a vector of strings: ONNX's protobuf messages, by their numbers in onnx.proto. */
function identityModel(): Uint8Array {
  const message = (write: (writer: protobuf.Writer) => void): Uint8Array => {
    const writer = protobuf.Writer.create()
    write(writer)
    return writer.finish()
  }
  const field = (number: number): number => (number << 3) | 2
  const dimension = message((w) => w.uint32(field(2)).string('n'))
  const shape = message((w) => w.uint32(field(1)).bytes(dimension))
  const strings = message((w) =>
    w
      .uint32(1 << 3)
      .int32(8)
      .uint32(field(2))
      .bytes(shape),
  )
  const type = message((w) => w.uint32(field(1)).bytes(strings))
  const value = (name: string): Uint8Array =>
    message((w) => w.uint32(field(1)).string(name).uint32(field(2)).bytes(type))
  const node = message((w) =>
    w.uint32(field(1)).string('x').uint32(field(2)).string('y').uint32(field(4)).string('Identity'),
  )
  const graph = message((w) => {
    w.uint32(field(1)).bytes(node).uint32(field(2)).string('identity')
    w.uint32(field(11)).bytes(value('x')).uint32(field(12)).bytes(value('y'))
  })
  const operators = message((w) =>
    w
      .uint32(field(1))
      .string('')
      .uint32(2 << 3)
      .int64(16),
  )
  return message((w) =>
    w
      .uint32(1 << 3)
      .int64(8)
      .uint32(field(7))
      .bytes(graph)
      .uint32(field(8))
      .bytes(operators),
  )
}

const milliseconds = async (body: () => unknown): Promise<number> => {
  let best = Infinity
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    await body()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

const folder = mkdtempSync(join(tmpdir(), 'tenon-onnxruntime-'))
try {
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `onnxruntime-node@${VERSION}`]
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  const { InferenceSession, Tensor } = createRequire(join(folder, 'package.json'))('onnxruntime-node') as OnnxRuntime
  const session = await InferenceSession.create(identityModel())
  const through = async (strings: readonly unknown[]): Promise<string[]> =>
    (await session.run({ x: new Tensor('string', strings, [strings.length]) }))['y']!.data

  assert.deepEqual(await through(['a\0b']), ['a'], 'an embedded NUL ends the string')
  assert.deepEqual(await through(['\ufeffa']), ['\ufeffa'], 'a BOM is kept')
  assert.deepEqual(await through(['a\ud800']), ['a\ufffd'], 'a lone surrogate becomes U+FFFD')
  await assert.rejects(through([Uint8Array.of(0x61, 0xff)]), Error, 'bytes are refused')

  const strings = asciiStrings().slice(0, FEWER)
  const theirs = await milliseconds(() => through(strings))
  const ours = await milliseconds(() => StringTensor.from(strings).toArray())
  const perString = (time: number): string => `${Math.round((time * 1e6) / FEWER)} ns a string`
  process.stdout.write(`onnxruntime-node ${VERSION}: NUL lost, BOM kept, lone surrogate U+FFFD, bytes refused\n`)
  process.stdout.write(`there and back: ${perString(theirs)}, StringTensor ${perString(ours)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
