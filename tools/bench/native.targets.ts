import type { NativePackage } from '@tenon/build'
import type { AddonTarget, SharedTarget } from '@tenon/build/internal'

const includes = ['csrc', '../../packages/core/include', 'node_modules/node-api-headers/include']

/** The hand-written addons, which are peers in benchmarks and are never shipped (Linux and macOS). See csrc/addon.h. */
const addons: AddonTarget[] = [
  {
    name: 'core_addon',
    kind: 'addon',
    sources: ['csrc/core_addon.c'],
    includes,
    imports: ['free', 'malloc'],
  },
  {
    name: 'custom_call_addon',
    kind: 'addon',
    sources: ['csrc/custom_call_addon.c'],
    includes,
    imports: [],
  },
  {
    name: 'packed_func_addon',
    kind: 'addon',
    sources: ['csrc/packed_func_addon.c'],
    includes,
    imports: ['malloc'],
  },
]

/** Native functions that all contestants call. */
const kernels: SharedTarget = {
  name: 'bench_kernels',
  kind: 'shared',
  fixture: true,
  sources: ['csrc/kernels.c'],
  exports: [
    'bench_repeat',
    'bench_repeat_blocks',
    'bench_repeat_points',
    'bench_scale_block',
    'bench_scale_point',
    'bench_sum',
  ],
  imports: [],
}

/** Kernels for the benchmarks of kernel calls, in this process and isolated. */
const pages: SharedTarget = {
  name: 'bench_pages',
  kind: 'shared',
  fixture: true,
  sources: ['csrc/pages.c'],
  includes: ['../../packages/core/include'],
  imports: ['memcmp', 'memcpy', 'snprintf', 'strlen', 'vsnprintf'],
}

export default {
  acyclic: true,
  // On Windows, an addon must be linked with node.exe.
  targets: process.platform === 'win32' ? [] : [...addons, kernels, pages],
} satisfies NativePackage
