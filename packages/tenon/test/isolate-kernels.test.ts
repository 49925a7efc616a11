import { tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { f32, f64, Library, s32, s64, u8, type IsolatedLibrary, type KernelOptions } from '../src/index.ts'
import { outcome, outcomeAsync } from './isolated.ts'

type Arguments = () => readonly unknown[]

interface Case {
  readonly library: string
  readonly kernel: string
  readonly args: Arguments
  readonly options?: KernelOptions
}

const row = (count: number, first = 0): Tensor =>
  tensor(
    'f32',
    [count],
    Float32Array.from({ length: count }, (_, i) => first + i / 3),
  )
const square = (size: number): Tensor =>
  tensor(
    'f32',
    [size, size],
    Float32Array.from({ length: size * size }, (_, i) => ((i * 7) % 11) - 5),
  )

const of = (
  library: string,
  cases: Readonly<Record<string, Arguments | readonly [KernelOptions, Arguments]>>,
): Case[] =>
  Object.entries(cases).map(([label, one]) => {
    const [kernel] = label.split(' ') as [string]
    return typeof one === 'function'
      ? { library, kernel, args: one }
      : { library, kernel, options: one[0], args: one[1] }
  })

const minors = (name: string, args: Arguments): Record<string, Arguments> =>
  Object.fromEntries([1, 2, 3, 4].map((minor) => [`${name}_v${minor}`, args]))

const signed = (signature: string, args: Arguments, more: KernelOptions = {}): readonly [KernelOptions, Arguments] => [
  { signature, ...more },
  args,
]

const attributes = {
  eps: f32(0.5),
  on: true,
  count: s64(-3n),
  text: 'a "b" \u{1f600}',
  list: new Float32Array([1, 2]),
  nested: { deep: { low: f64(0.1) } },
}

/** One call or more of each kernel that can be called without an address of the caller. */
const cases: readonly Case[] = [
  ...of('kernels', {
    softmax: () => [square(5), { temperature: 0.7 }],
    'softmax into': () => [square(5), {}, { into: tensor('f32', [5, 5]) }],
    'softmax empty': () => [tensor('f32', [0, 4])],
    broadcast_add: () => [row(4), row(12)],
    cholesky: () => [tensor('f64', [2, 2], [4, 2, 2, 3])],
    'cholesky layout': () => [tensor('f64', [2, 2], [4, 2, 2, 3]).toLayout('cm')],
    matmul: () => [square(4), square(4)],
    'matmul bias': () => [square(4), square(4), row(4)],
    'matmul f64': () => [tensor('f64', [2, 2], [1, 2, 3, 4]), tensor('f64', [2, 2], [5, 6, 7, 8])],
    'matmul wrong': () => [square(4), square(3)],
    optional_sum: () => [row(3)],
    'optional_sum bias': () => [row(3), row(3)],
    'optional_sum more': () => [row(3), row(3), Array.from({ length: 60 }, (_, i) => row(3, i))],
    rms_norm: () => [square(6), { eps: 1e-5 }],
    'rms_norm missing': () => [square(6)],
    saxpy: () => [row(9), row(9, 2), { a: -1.5 }],
    scale_shift: () => [
      row(7),
      { scale: 2, shift: [1], times: 3n, activation: 'relu', clip: true, limits: { low: -1, high: 5 } },
    ],
    'scale_shift empty shift': () => [row(7), { shift: [] }],
    topk: () => [square(6), { k: 2 }],
    'topk too many': () => [square(6), { k: 9 }],
    weighted_sum: () => [row(4), row(4), row(4), { w0: 1, w1: -2, w2: 3, w3: 4 }],
    do_custom_call: () => [row(128), row(2048)],
    'clip_v1 wrong': () => [row(8), { results: [f32([8])], attrs: { low: f64(0), high: f32(1) } }],
    ...minors('clip', () => [row(8), { results: [f32([8])], attrs: { low: f32(0.5), high: f32(1.5) } }]),
    ...minors('reverse_in_scratch', () => [
      row(8),
      { results: [f32([8])], attrs: { alignment: s64(64n), forget: false } },
    ]),
    ...minors('scale_later', () => [row(8), { results: [f32([8])], attrs: { factor: f32(2) } }]),
    scale_later: () => [row(8), { results: [f32([8])], attrs: { factor: f32(2) } }],
    describe_attrs: () => [{ results: [u8([4096])], attrs: attributes }],
    describe_buffers: signed('(a: any[...], t: token) -> (text: u8[4096], t2: token)', () => [square(3)]),
    'fail_with 3': () => [{ results: [], attrs: { code: s32(3), message: 'on purpose' } }],
    'fail_with 99': () => [{ results: [], attrs: { code: s32(99), message: 'ü'.repeat(3000) } }],
    'fail_with empty': () => [{ results: [], attrs: { code: s32(8), message: '' } }],
    prepare_nothing: () => [{ results: [] }],
    wait_for_flag: () => [tensor('s32', [], [1]), { results: [s32([])] }],
    twice_v5: () => [row(2), { results: [f32([2])] }],
    version_0_0: () => [row(2), { results: [f32([2])] }],
    version_negative: () => [row(2), { results: [f32([2])] }],
    silent: () => [row(2), { results: [f32([2])] }],
    not_ready: () => [row(2), { results: [f32([2])] }],
    needs_stream: () => [row(2), { results: [f32([2])] }],
    split: () => [row(4), { results: [f32([2]), f32([2])] }],
    absent: () => [row(2)],
  }),
  ...of(
    'kernels_cpp',
    Object.fromEntries(
      ['throw_v1', 'throw_v2', 'throw_v3', 'throw_v4', 'throw_runtime_error', 'throw_int', 'run_out_of_memory'].map(
        (name) => [
          name,
          () => [{ results: [], attrs: name === 'throw_runtime_error' ? { message: 'on purpose (or not)' } : {} }],
        ],
      ),
    ),
  ),
  ...of(
    'kernels_cpp',
    Object.fromEntries(
      [
        'throw_bad_alloc',
        'throw_chars',
        'throw_long_text',
        'throw_null',
        'throw_parse_error',
        'throw_reason',
        'throw_string',
      ].map((name) => [name, () => [row(1), { results: [f32([1])] }]]),
    ),
  ),
  ...of('kernels_runtime', {
    checked_add: () => [tensor('s32', [], [2]), tensor('s32', [], [3]), { results: [s32([])] }],
    copy_opaque: () => [{ results: [u8([5]), s64([])], opaque: 'hello' }],
    set_status: () => [{ results: [], opaque: 'SF refused' }],
    'set_status empty': () => [{ results: [], opaque: 'E' }],
    'set_status well': () => [{ results: [u8([1])], opaque: 'S' }],
    'set_status opaque': () => [{ results: [], opaque: new Uint8Array([70, 0, 66]) }],
    increment: () => [tensor('s32', [4], [1, 2, 3, 4]), { results: [s32([4])] }],
    'increment refused': () => [tensor('s32', [4]), { results: [s32([4])], opaque: 'x' }],
    'increment aliased': signed('(x: s32[4] @donated) -> (y: s32[4] @alias(x))', () => [
      tensor('s32', [4], [1, 2, 3, 4]),
    ]),
    'increment copied': signed('(x: s32[4]) -> (y: s32[4] @alias(x))', () => [tensor('s32', [4], [1, 2, 3, 4])]),
    reverse_by_scratch: signed('(x: s32[4]; scratch: s32[4]) -> (y: s32[4])', () => [tensor('s32', [4], [1, 2, 3, 4])]),
    flattened_sums: () => [row(32), row(64), row(128), row(256), { results: [f32([512]), f32([1024])] }],
  }),
  ...of('kernels_early', { decoding_early: () => [row(2), { results: [f32([2])] }] }),
]

const opened = new Map<string, Library>()
const isolated = new Map<string, IsolatedLibrary>()
const libraries = [...new Set(cases.map(({ library }) => library))]

beforeAll(async () => {
  for (const name of libraries) {
    opened.set(name, Library.open(kernelLibrary(name)))
    isolated.set(name, await Library.isolate(kernelLibrary(name)))
  }
})

afterAll(async () => {
  for (const library of isolated.values()) await library.closeAsync()
  for (const library of opened.values()) library.close()
})

describe('a kernel in a worker gives the results and errors of a kernel in this process', () => {
  test.each(cases.map((one) => [`${one.library} ${one.kernel}`, one] as const))(
    '%s',
    async (_, { library, kernel, options, args }) => {
      const here = outcome(() => opened.get(library)!.kernel(kernel, options)(...(args() as never[])))
      const there = outcome(() => isolated.get(library)!.kernel(kernel, options)(...(args() as never[])))
      expect(there).toEqual(here)
      expect(
        await outcomeAsync(async () =>
          isolated
            .get(library)!
            .kernel(kernel, options)
            .async(...(args() as never[])),
        ),
      ).toEqual(here)
      const batch = await outcomeAsync(async () => {
        const [first, second] = await isolated
          .get(library)!
          .kernel(kernel, options)
          .batch([args() as never[], args() as never[]])
        if (first!.status === 'rejected') throw first!.reason
        return (second as PromiseFulfilledResult<unknown>).value
      })
      expect(batch).toEqual(here)
    },
  )
})
