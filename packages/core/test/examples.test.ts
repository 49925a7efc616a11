import * as diagnostics from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import * as internal from '@tenon/core/internal'
import * as bridge from '@tenon/core/koffi'
import * as testing from '@tenon/core/testing'
import koffi from 'koffi'

const directory = fileURLToPath(new URL('..', import.meta.url))

testExamples(directory, {
  modules: {
    '@tenon/core': core,
    '@tenon/core/internal': internal,
    '@tenon/core/koffi': bridge,
    '@tenon/core/testing': testing,
    'node:diagnostics_channel': diagnostics,
  },
  context: () => ({
    segment: core.gcAllocator.allocate(128, 64),
    lifetime: core.NativeLibrary.open('libm.so.6'),
    scope: core.NativeLibrary.open('libm.so.6'),
    libc: core.NativeLibrary.open('libc.so.6'),
    koffi,
    path: internal.coreLibrary().path,
    useFromNativeThread: async () => {},
    console: { log() {}, error() {} },
  }),
})
