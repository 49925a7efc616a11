import type { NativePackage } from '@tenon/build'

export default {
  acyclic: true,
  targets: [
    {
      name: 'embedding',
      kind: 'shared',
      sources: ['csrc/lookup.c'],
      includes: ['../../packages/core/include'],
      imports: ['memcmp', 'memcpy', 'snprintf', 'strlen', 'vsnprintf'],
    },
  ],
} satisfies NativePackage
