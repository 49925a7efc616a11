import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { onTestFinished } from 'vitest'

/** A project in a temporary directory, which is removed after the test. */
export interface ProjectFolder {
  readonly directory: string
  write(path: string, content: string): void
}

const packages = join(import.meta.dirname, '../../..')

/** Makes a project with these files, in which `@tenon/build` and `@tenon/core` are installed. */
export function makeProject(files: Record<string, string>): ProjectFolder {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-project-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  write('package.json', '{ "name": "my-kernels", "version": "1.2.3", "type": "module" }')
  mkdirSync(join(directory, 'node_modules/@tenon'), { recursive: true })
  for (const name of ['build', 'core']) symlinkSync(join(packages, name), join(directory, 'node_modules/@tenon', name))
  for (const [path, content] of Object.entries(files)) write(path, content)
  return { directory, write }
}

/** A configuration with these members. */
export function configText(config: object): string {
  return `export default ${JSON.stringify(config)}\n`
}

/** A kernel that multiplies by a constant. */
export function scaleKernel(factor: number, name = 'scale'): string {
  return `#include <tenon/kernel.h>
TN_KERNEL(${name}, "(x: f32[n]) -> (y: f32[n]) -- Multiplies by ${factor}.") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  for (int64_t i = 0; i < tn_xla_element_count(x); i++) ((float *)y->data)[i] = ${factor} * ((const float *)x->data)[i];
}
`
}
