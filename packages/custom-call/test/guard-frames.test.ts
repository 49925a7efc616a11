import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Kernels that write to their frame. The result is f32[4], and the attribute is k = 5. */
const writes: Readonly<Record<string, string>> = {
  nothing: '(void)0',
  shape: 'y->dims[0] = 99',
  rank: 'y->rank = 99',
  data: 'y->data = NULL',
  kinds: 'frame->rets.types[0] = 99',
  attribute: '*(int32_t *)k->value = 99',
}

const directory = mkdtempSync(join(tmpdir(), 'tenon-guard-frames-'))
const path = join(directory, 'libwrites.so')
beforeAll(() => {
  const kernels = Object.entries(writes).map(
    ([name, write]) => `
    TN_XLA_EXPORT tn_xla_error_t *${name}(tn_xla_call_frame_t *frame) {
      static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .rets = TN_XLA_ANY, .attrs = TN_XLA_ANY};
      tn_xla_reader_t in;
      if (!tn_xla_open(&in, frame, &signature)) return in.error;
      tn_xla_buffer_t *y = (tn_xla_buffer_t *)frame->rets.rets[0];
      tn_xla_scalar_t *k = (tn_xla_scalar_t *)frame->attrs.attrs[0];
      *(float *)y->data = (float)(*(int32_t *)k->value + y->dims[0]);
      ${write};
      return NULL;
    }`,
  )
  writeFileSync(`${path}.c`, `#include <tenon/xla_handler.h>\n#include <tenon/xla_mark.h>\n${kernels.join('\n')}`)
  const include = fileURLToPath(new URL('../../core/include', import.meta.url))
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-I', include, '-o', path, `${path}.c`])
})
afterAll(() => rmSync(directory, { recursive: true }))

if (process.platform === 'linux')
  test('guard mode reports a kernel that writes to its frame, and restores the frame', async () => {
    const { code, stdout, stderr } = await runScript(
      `import { NativeLibrary, tensor } from '@tenon/core'
       import { customCall, f32, s32, typedHandler } from '@tenon/custom-call'
       const library = NativeLibrary.open(${JSON.stringify(path)})
       const y = tensor('f32', [4])
       for (const name of ${JSON.stringify(Object.keys(writes))}) {
         const call = customCall(library, name)
         const prepared = typedHandler(library, name).prepare({ results: [f32([4])], attrs: { k: s32(5) } })
         for (const run of [() => call([], { results: [y], attrs: { k: s32(5) } }), () => prepared.run([], [y])])
           for (let i = 0; i < 2; i++) {
             y.set([0, 0, 0, 0])
             try { run(); console.log(y.at(0)) } catch (error) { console.log(y.at(0), error.code, error.sentence) }
           }
       }`,
      {
        cwd: fileURLToPath(new URL('..', import.meta.url)),
        nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
        env: { TENON_DEBUG: 'guard' },
      },
    )
    expect([code, stderr]).toEqual([0, ''])
    const report = (name: string): string =>
      `9 TENON_GUARD ${name} wrote to its call frame, which is constant for a kernel`
    const lines = Object.keys(writes).flatMap(
      (name) => Array(4).fill(name === 'nothing' ? '9' : report(name)) as string[],
    )
    expect(stdout.trim().split('\n')).toEqual(lines)
  })
