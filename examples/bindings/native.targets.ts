import type { NativePackage } from '@tenon/build'

const sqlite = 'node_modules/better-sqlite3/deps/sqlite3'

export default {
  targets: [
    {
      name: 'sqlite3',
      kind: 'shared',
      sources: [`${sqlite}/sqlite3.c`],
      defines: { SQLITE_API: '__attribute__((visibility("default")))' },
      // Another optimization level doubles the time of the compiler.
      flags: ['-O1', '-w'],
      libraries: ['m'],
      imports: ['*'],
    },
    {
      name: 'crash',
      kind: 'shared',
      sources: ['csrc/crash.c'],
      includes: [sqlite],
      imports: ['*'],
    },
  ],
} satisfies NativePackage
