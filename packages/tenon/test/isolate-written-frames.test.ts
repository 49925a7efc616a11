import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { f32, Library, s32, tensor, type IsolatedLibrary } from '../src/index.ts'
import { compileLibrary } from './signature-library.ts'

// A worker keeps the frames of kernels, which handlers can write to.

/** Kernels that report a part of their frame and then overwrite it. The result is f32[4], and the attributes are k = 5 and s = "text". */
const parts: Readonly<Record<string, readonly [read: string, write: string, value: number]>> = {
  sizes: ['y->dims[0]', 'y->dims[0] = 99', 4],
  rank: ['y->rank', 'y->rank = 7', 1],
  dtype: ['y->dtype', 'y->dtype = 1', 11],
  shape: ['y->dims != NULL', 'y->dims = NULL', 1],
  results: ['frame->rets.size', 'frame->rets.size = 0', 1],
  buffers: ['frame->rets.rets != NULL', 'frame->rets.rets = NULL', 1],
  kinds: ['frame->rets.types[0]', 'frame->rets.types[0] = 9', 1],
  attributes: ['frame->attrs.size', 'frame->attrs.size = 0', 2],
  scalar: ['*(int32_t *)k->value', '*(int32_t *)k->value = 99', 5],
  length: ['s->len', '((tn_xla_span_t *)s)->len = 0', 4],
  text: ['s->ptr[0]', '*(char *)s->ptr = 1', 116],
  name: ['frame->attrs.names[0]->len', '((tn_xla_span_t *)frame->attrs.names[0])->len = 0', 1],
}

const directory = mkdtempSync(join(tmpdir(), 'tenon-frames-'))
let library: IsolatedLibrary
beforeAll(async () => {
  const kernels = Object.entries(parts).map(
    ([name, [read, write]]) => `
    TN_XLA_EXPORT tn_xla_error_t *${name}(tn_xla_call_frame_t *frame) {
      static const tn_xla_signature_t signature = {.minor = 1, .stage = TN_XLA_EXECUTE, .rets = TN_XLA_ANY, .attrs = TN_XLA_ANY};
      tn_xla_reader_t in;
      if (!tn_xla_open(&in, frame, &signature)) return in.error;
      tn_xla_buffer_t *y = (tn_xla_buffer_t *)frame->rets.rets[0];
      tn_xla_scalar_t *k = (tn_xla_scalar_t *)frame->attrs.attrs[0];
      tn_xla_span_t *s = (tn_xla_span_t *)frame->attrs.attrs[1];
      (void)k, (void)s;
      *(float *)y->data = (float)(${read});
      ${write};
      return NULL;
    }
    TN_XLA_MARK_TYPED(${name});`,
  )
  const source = `#include <tenon/xla_handler.h>\n#include <tenon/xla_mark.h>\n${kernels.join('\n')}`
  library = await Library.isolate(compileLibrary(directory, source), { workers: 1 })
})
afterAll(async () => {
  await library.closeAsync()
  rmSync(directory, { recursive: true })
})

describe('a later isolated call of a kernel that writes into its frame', () => {
  test.each(Object.entries(parts))('has its own: %s', async (name, [, , value]) => {
    const kernel = library.kernel(name)
    const call = () => [{ results: [f32([4])], attrs: { k: s32(5), s: 'text' } }] as const
    for (let i = 0; i < 3; i++) expect(kernel(...call()).at(0)).toBe(value)
    for (let i = 0; i < 3; i++) expect((await kernel.async(...call())).at(0)).toBe(value)
    const into = tensor('f32', [4])
    for (let i = 0; i < 3; i++) kernel({ results: [into], attrs: { k: s32(5), s: 'text' } })
    expect(into.at(0)).toBe(value)
  })
})
