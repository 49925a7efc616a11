import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../..', import.meta.url))

/** A kernel that adds a number to each element of four. */
export const adding = (name: string, added: number): string => `#include <tenon/signature.h>
#include <tenon/xla_mark.h>
TN_SIGNATURE(${name}, "(x: f32[4]) -> (y: f32[4])");
TN_XLA_MARK_HOST(${name});
TN_XLA_EXPORT void ${name}(void *out, const void **in);
void ${name}(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((float *)out)[i] = ((const float *)in[0])[i] + ${added};
}
`

/** The files of a package of kernels, by path. */
export type ProjectFiles = Readonly<Record<string, string>>

const config = (text: string): string =>
  `import { defineConfig } from '@tenon/build'\nexport default defineConfig(${text})\n`

/** A project with one library of two kernels. */
export function projectFiles(
  manifest: object = {},
  configuration: string = '{ libraries: [{ name: "adders", sources: ["src/*.c"] }] }',
): ProjectFiles {
  return {
    'package.json': JSON.stringify({
      name: '@me/adders',
      version: '1.2.3',
      type: 'module',
      private: true,
      ...manifest,
    }),
    'tenon.config.ts': config(configuration),
    'README.md': '# Adders\n',
    LICENSE: 'A license.\n',
    'src/one.c': adding('add_one', 1),
    'src/two.c': adding('add_two', 2),
  }
}

/** Writes a project to a directory in which the packages of this repository are installed. */
export function makeProject(files: ProjectFiles, prefix = 'tenon-project-'): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  install(directory)
  return directory
}

/** Installs the packages of this repository in a directory. */
export function install(directory: string): void {
  mkdirSync(join(directory, 'node_modules/@tenon'), { recursive: true })
  symlinkSync(join(packages, 'tenon'), join(directory, 'node_modules/tenon'))
  for (const name of ['build', 'core']) symlinkSync(join(packages, name), join(directory, 'node_modules/@tenon', name))
}
