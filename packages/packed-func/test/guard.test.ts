import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'

const packageDirectory = fileURLToPath(new URL('..', import.meta.url))

async function linesOf(code: string, mode: string): Promise<string[]> {
  const {
    code: exitCode,
    stdout,
    stderr,
  } = await runScript(
    `import { dirname, join } from 'node:path'
     import { gcAllocator, tensor } from '@tenon/core'
     import { coreLibrary } from '@tenon/core/internal'
     import { Module, t, tensorView } from '@tenon/packed-func'
     const overrun = Module.open(join(dirname(coreLibrary().path), 'liboverrun.so')).get('overrun')
     // Without guard mode the bytes behind the tensor belong to the same segment.
     const y = tensor('f32', [6], ${mode === '' ? 'gcAllocator.allocate(256, 64)' : 'undefined'})
     const report = (run) => {
       try { run(); console.log('nothing') } catch (error) { console.log(error.code, error.sentence) }
     }
     ${code}`,
    {
      cwd: packageDirectory,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
      env: { TENON_DEBUG: mode },
    },
  )
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout.trim().split('\n')
}

const CALLS = `
  report(() => overrun(y, 24, 1))
  report(() => overrun(tensorView(y), 30, 2))
  report(() => overrun.typed([t.tensor, t.int, t.int], t.none)(y, 24, 40))
  report(() => overrun.tryCall(y, -4, 4))
  report(() => overrun(y, 0, 24))
  await overrun.async(y, 24, 3).then(() => console.log('nothing'), (error) => console.log(error.code, error.sentence))`

if (process.platform === 'linux')
  describe('guard mode', () => {
    test('calls of packed functions report bytes beside their tensors', async () => {
      expect(await linesOf(CALLS, 'guard')).toEqual([
        'TENON_GUARD overrun wrote 1 byte behind argument 1, at offset 24',
        'TENON_GUARD overrun wrote 2 bytes behind argument 1, at offset 30',
        'TENON_GUARD overrun wrote 40 bytes behind argument 1, at offset 24',
        'TENON_GUARD overrun wrote 4 bytes before argument 1, at offset -4',
        'nothing',
        'TENON_GUARD overrun wrote 3 bytes behind argument 1, at offset 24',
      ])
    })

    test('calls of packed functions are not checked without guard mode', async () => {
      const inPlace = CALLS.replace('-4, 4', '0, 4').replace('24, 40', '24, 4')
      expect(await linesOf(inPlace, '')).toEqual(Array(6).fill('nothing'))
    })
  })
