import type { NativePackage } from '@tenon/build'

const includes = ['../../packages/core/include']

/** One library for each convention: a packed function of TVM, and custom calls of XLA. */
export default {
  acyclic: true,
  targets: [
    {
      name: 'text',
      kind: 'shared',
      sources: ['csrc/text_features.c'],
      includes,
      libraries: ['m'],
      imports: ['log1pf', 'memset', 'TVMFFIErrorSetRaisedFromCStr'],
      unresolved: ['TVMFFIErrorSetRaisedFromCStr'],
    },
    {
      name: 'score',
      kind: 'shared',
      sources: ['csrc/score_rows.c', 'csrc/write_nowhere.c'],
      includes,
      libraries: ['m'],
      imports: ['memcmp', 'memcpy', 'snprintf', 'sqrt', 'strlen', 'vsnprintf'],
    },
  ],
} satisfies NativePackage
