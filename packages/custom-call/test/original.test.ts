import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { ApiVersion, f32, hostCall, hostFunction } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { filled, kernels } from './kernels.ts'

test('ORIGINAL cannot report a failure, so wrong input gives wrong output without an error', () => {
  const nans = filled([2048], () => Number.NaN)
  const a = hostCall(kernels, 'do_custom_call')([filled([128], () => 1), nans], { results: [f32([2048])] })
  expect(a.toArray().every((value) => Number.isNaN(value))).toBe(true)
})

test('the versions before UNIFIED print no warning, and the two flags of XLA are not versions', async () => {
  const ended = await runScript(
    `
      import { NativeLibrary, tensor } from '@tenon/core'
      import { ApiVersion, hostFunction } from '@tenon/custom-call'
      const library = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels_runtime'))})
      const both = [tensor('s32', [4], [1, 2, 3, 4])]
      hostFunction(library, 'increment').prepare({ operands: both, results: both }).run(both, both)
      const [one, sum] = [tensor('s32', [], [1]), tensor('s32', [])]
      const shape = { operands: [one, one], results: [sum] }
      const add = hostFunction(library, 'checked_add', { apiVersion: ApiVersion.STATUS_RETURNING }).prepare(shape)
      add.run([one, one], [sum])
      console.log(both[0].toArray().join(), sum.toArray().join())
    `,
    {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      nodeOptions: [...packageFlags, '--no-warnings'],
    },
  )
  expect([ended.stdout, ended.stderr, ended.code]).toStrictEqual(['2,3,4,5 2\n', '', 0])
  // XLA registers targets with the flags 0 (untyped) and 1 (typed). As versions, 0 is unspecified and 1 is ORIGINAL.
  expect(() => hostFunction(kernels, 'do_custom_call', { apiVersion: 0 as never })).toThrow(/UNSPECIFIED/)
  expect(hostFunction(kernels, 'do_custom_call', { apiVersion: 1 }).apiVersion).toBe(ApiVersion.ORIGINAL)
})
