import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { isOwnLibrary } from './support.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const packed = kernelLibrary('packed')

/** The backtrace of an error that a kernel raises, with a limit of frames. */
async function backtraceOf(limit: number | undefined): Promise<string> {
  const { code, stdout, stderr } = await runScript(
    `import { Module, packedFunc } from '@tenon/packed-func'
     const lib = Module.open(${JSON.stringify(packed)})
     try { lib.get('call')(lib.get('fail_as'), 'KeyError') } catch (error) { console.log(error.nativeBacktrace) }`,
    {
      cwd: root,
      nodeOptions: [...packageFlags, '--no-warnings'],
      ...(limit === undefined ? {} : { env: { TVM_TRACEBACK_LIMIT: String(limit) } }),
    },
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trim()
}

it('a limit of 0 leaves at most the frame that the kernel names', async () => {
  expect((await backtraceOf(0)).split('\n')).toHaveLength(1)
})

if (isOwnLibrary)
  it('TVM_TRACEBACK_LIMIT adds frames of native code to an error', async () => {
    expect(await backtraceOf(undefined)).toBe('')
    // The frames end at the call that entered the kernel. Those of Tenon and of the engine are left out.
    expect(await backtraceOf(50)).toBe(`File "${packed}", line 0, in __tvm_ffi_fail_as`)
  })
