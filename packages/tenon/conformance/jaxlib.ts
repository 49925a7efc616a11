/**
 * The command `pnpm test:jaxlib`, which compiles the LAPACK handlers of jaxlib unchanged and calls them with column-major layouts, in
 * TypeScript and in the shell. TENON_JAX names a checkout of jax-ml/jax. TENON_XLA names one of openxla/xla, or the directory `include`
 * of the Python package jaxlib, which has the same headers. Debian has the libraries in libabsl-dev and liblapack-dev.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, folderOf, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { compile } from '../src/entries/build.ts'
import { Library, readNpy, tensor, writeNpy, type Kernel, type Tensor } from '../src/index.ts'
import { assertClose } from '../src/testing/assert-close.ts'
import { runTenon } from '../test/run-tenon.ts'

const SOURCE = '#include "jaxlib/cpu/lapack_kernels.cc"\n#include "jaxlib/cpu/lapack_kernels_using_lapack.cc"\n'

const LIBRARIES = ['lapack', 'blas', 'absl_statusor', 'absl_status', 'absl_strings', 'absl_str_format_internal']

/** The letters by which LAPACK names element types. */
const PREFIXES = { f32: 's', f64: 'd', c64: 'c', c128: 'z' } as const

type Dtype = keyof typeof PREFIXES

/** The results of the Cholesky factorization of a batch. */
interface Factorization {
  readonly factor: Tensor
  readonly info: Tensor
}

/** The lower triangle, as the character that LAPACK takes. */
const LOWER = 'L'.charCodeAt(0)

const [BATCH, SIZE] = [3, 5]

/** The handler of the Cholesky factorization, for operands and results with these notes. */
function potrf(library: Library, dtype: Dtype, operand: string, result = operand): Kernel<Factorization, unknown> {
  const x = `${dtype}[...b, n, n]`
  const signature = `(x: ${x} ${operand}) -> (factor: ${x} ${result}, info: s32[...b]); uplo: u8`
  return library.kernel<Factorization>(nameOf(dtype), { signature })
}

const nameOf = (dtype: Dtype): string => `lapack_${PREFIXES[dtype]}potrf_ffi`

/** Compiles the handlers into a library in the directory. */
async function compileHandlers(jax: string, xla: string, directory: string): Promise<string> {
  // JAX asks this header of XLA for the platform of Google alone, and the headers of jaxlib lack it.
  mkdirSync(join(directory, 'tsl/platform'), { recursive: true })
  writeFileSync(join(directory, 'tsl/platform/platform.h'), '')
  const { path } = await compile(SOURCE, {
    language: 'c++',
    name: 'lapack_kernels.cc',
    // jaxlib's macro leaves the visibility of handlers to the compiler.
    flags: ['-std=c++20', '-fvisibility=default'],
    includes: [jax, xla, directory],
    libraries: LIBRARIES,
    timeout: 600_000,
  })
  return path
}

/** A batch of Hermitian matrices that are positive definite, because their diagonals dominate. */
function definite(dtype: Dtype, batch: number, size: number): Tensor {
  const entry = (b: number, i: number, j: number): number => ((b + 1) * (i + 2) * (j + 2) + i) % 5
  const isComplex = dtype.startsWith('c')
  const values: unknown[] = []
  for (let b = 0; b < batch; b++)
    for (let i = 0; i < size; i++)
      for (let j = 0; j < size; j++) {
        const real = i === j ? 20 * size : entry(b, i, j) + entry(b, j, i)
        values.push(isComplex ? [real, entry(b, i, j) - entry(b, j, i)] : real)
      }
  return tensor(dtype, [batch, size, size], values as number[])
}

/** Exchanges the last two axes in memory by hand. */
const transposed = (x: Tensor): Tensor => x.permute([0, 2, 1]).copy()

/** The factorization by a kernel that knows nothing of layouts, with transposed memory. */
function factorByHand(library: Library, dtype: Dtype, x: Tensor): Tensor {
  const { factor, info } = potrf(library, dtype, '')(transposed(x), { uplo: LOWER })
  expectSame(info, tensor('s32', [BATCH]))
  return transposed(factor)
}

function expectSame(actual: Tensor, expected: Tensor): void {
  assertClose(actual, expected, { rtol: 0, atol: 0 })
}

async function runChecks(jax: string, xla: string, directory: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const run = async (name: string, body: () => void | Promise<void>): Promise<void> => {
    outcomes.push(await check(name, body))
  }
  let path = ''
  await run('the handlers compile', async () => {
    path = await compileHandlers(jax, xla, directory)
  })
  if (path === '') return outcomes
  const library = Library.open(path)

  await run('each handler that jaxlib declares can be opened', () => {
    const header = readFileSync(join(jax, 'jaxlib/cpu/lapack_kernels.h'), 'utf8')
    const declared = [...header.matchAll(/XLA_FFI_DECLARE_HANDLER_SYMBOL\((\w+)\)/g)].map(([, name]) => name!)
    if (declared.length === 0) throw new Error('the header declares no handler')
    for (const name of declared) library.customCall(name)
  })
  for (const dtype of Object.keys(PREFIXES) as Dtype[]) {
    const x = definite(dtype, BATCH, SIZE)
    await run(`${nameOf(dtype)} with @cm equals transposing by hand`, () => {
      const { factor, info } = potrf(library, dtype, '@cm')(x, { uplo: LOWER })
      expectSame(factor, factorByHand(library, dtype, x))
      expectSame(info, tensor('s32', [BATCH]))
    })
    await run(`${nameOf(dtype)} overwrites a donated column-major operand without a copy`, () => {
      const columns = x.toLayout('cm')
      const { factor } = potrf(library, dtype, '@cm @donated', '@cm @alias(x)')(columns, { uplo: LOWER })
      if (factor.segment.address !== columns.segment.address) throw new Error('the factor has memory of its own')
      expectSame(columns, factorByHand(library, dtype, x))
    })
  }
  await run('tenon call with @cm equals transposing by hand', () => {
    const [input, output] = [join(directory, 'x.npy'), join(directory, 'factor.npy')]
    const x = definite('f64', BATCH, SIZE)
    for (const operand of [x, x.toLayout('cm')]) {
      writeNpy(input, operand)
      const results = ['--result', `f64[${BATCH},${SIZE},${SIZE}]@cm:${output}`, '--result', `s32[${BATCH}]`]
      const args = ['call', path, nameOf('f64'), '--arg', `${input}@cm`, ...results, '--attr', `uplo=u8:${LOWER}`]
      const { code, stderr } = runTenon(args)
      if (code !== 0) throw new Error(`tenon call ended with code ${code}: ${stderr}`)
      expectSame(readNpy(output), factorByHand(library, 'f64', x))
    }
  })
  return outcomes
}

const missing: string[] = []
const jax = folderOf('TENON_JAX', 'jax-ml/jax', 'jaxlib/cpu/lapack_kernels.cc', missing)
const xla = folderOf('TENON_XLA', 'openxla/xla', 'xla/ffi/api/ffi.h', missing)
if (missing.length > 0) reportMissing('pnpm test:jaxlib', missing)
else {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-jaxlib-'))
  try {
    report(await runChecks(jax, xla, directory))
  } finally {
    rmSync(directory, { recursive: true })
  }
}
