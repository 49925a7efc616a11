/**
 * The command `pnpm test:tensorflow`, which compiles a kernel of one file with the headers of TensorFlow, and with Tenon's, and runs both.
 * TENON_TENSORFLOW_HEADERS names a directory that has `tensorflow/c/kernels.h`: a checkout of tensorflow/tensorflow, or the directory
 * `include` of the Python package tensorflow.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, folderOf, report, reportMissing } from '@tenon/config/conformance'
import { tensor, type Tensor } from '@tenon/core'
import { TensorFlowLibrary } from '../src/library.ts'

const source = fileURLToPath(new URL('../../../fixtures/kernels/src/tensorflow/portable.c', import.meta.url))
const own = fileURLToPath(new URL('../../core/include', import.meta.url))
const missing: string[] = []
const upstream = folderOf('TENON_TENSORFLOW_HEADERS', 'tensorflow/tensorflow', 'tensorflow/c/kernels.h', missing)

/** Compiles the kernel, runs it, and compares its result. */
function run(output: string, command: string, ...flags: readonly string[]): void {
  execFileSync(command, ['-shared', '-fPIC', ...flags, '-o', output], { stdio: 'pipe' })
  const library = TensorFlowLibrary.open(output)
  const y = library.kernel('Portable')(tensor([[1, -2]])) as Tensor
  if (String(y) !== 'Tensor float32[1, 2] [[2, -4]]') throw new Error(`the result is ${String(y)}`)
  library.close()
}

if (missing.length > 0) reportMissing('pnpm test:tensorflow', missing)
else {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tensorflow-'))
  // Where a checkout and the Python package have the headers that those of tensorflow/c include.
  const folders = ['', 'third_party/xla', 'third_party/xla/third_party/tsl', 'external/local_xla', 'external/local_tsl']
  const includes = folders.map((folder) => `-I${join(upstream, folder)}`)
  const asCxx = ['-x', 'c++', '-std=c++17', '-DTEST_TENSORFLOW_HEADERS', ...includes, source]
  try {
    report([
      await check("a kernel that is compiled with Tenon's header runs", () =>
        run(join(directory, 'own.so'), 'cc', `-I${own}`, source),
      ),
      await check("a kernel that is compiled with TensorFlow's headers runs", () =>
        run(join(directory, 'upstream.so'), 'c++', ...asCxx),
      ),
    ])
  } finally {
    rmSync(directory, { recursive: true })
  }
}
