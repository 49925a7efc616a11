import type { NativePackage } from '@tenon/build'
import type { SharedTarget } from '@tenon/build/internal'

/** The functions that all contestants call. */
const work: SharedTarget = {
  name: 'prove_work',
  kind: 'shared',
  fixture: true,
  sources: ['csrc/work.c'],
  includes: ['../../packages/core/include'],
  imports: [
    'calloc',
    'free',
    'malloc',
    'memcmp',
    'memcpy',
    'memset',
    'pthread_create',
    'pthread_detach',
    'snprintf',
    'strlen',
    'vsnprintf',
  ],
}

export default { acyclic: true, targets: process.platform === 'win32' ? [] : [work] } satisfies NativePackage
