import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { ToolError } from './tool-error.ts'

/** Where an addon's package has the lists of the functions of Node-API, beside the headers. */
const lists = ['js_native_api', 'node_api'].map((name) => `node_modules/node-api-headers/def/${name}.def`)

/** Makes the headers declare pointers to functions, which are named `__imp_` and the name. */
export const importedNodeSymbols = '-DNAPI_EXTERN=__declspec(dllimport)'

/**
 * Writes the C source that gives a Windows addon the functions of Node-API, and returns its path relative to the package. A link
 * with `node.exe` would require a program of this name.
 *
 * @throws {ToolError} if the package has no node-api-headers.
 */
export function writeNodeSymbols(directory: string, path: string): string {
  const names = lists.flatMap((list) => {
    if (!existsSync(join(directory, list)))
      throw new ToolError(`${directory} must have node-api-headers as a dev dependency, because it has an addon`)
    return readFileSync(join(directory, list), 'utf8').match(/^\s*n\w+$/gm) ?? []
  })
  mkdirSync(dirname(join(directory, path)), { recursive: true })
  writeFileSync(join(directory, path), renderNodeSymbols(names.map((name) => name.trim())))
  return path
}

/** Renders C that looks up each function once in the program that has loaded the addon, or else in the library of Node.js. */
export function renderNodeSymbols(names: readonly string[]): string {
  return `#include <windows.h>

#define FUNCTIONS(DO) \\
${names.map((name) => `  DO(${name})`).join(' \\\n')}

#define POINTER(name) FARPROC __imp_##name;
FUNCTIONS(POINTER)

static HMODULE find_node(void) {
  const HMODULE program = GetModuleHandleW(NULL);
  if (GetProcAddress(program, "napi_create_function") != NULL) return program;
  const HMODULE library = GetModuleHandleW(L"libnode.dll");
  return library != NULL ? library : GetModuleHandleW(L"node.dll");
}

__attribute__((constructor)) static void look_up(void) {
  const HMODULE node = find_node();
  if (node == NULL) return;
#define LOOK_UP(name) __imp_##name = GetProcAddress(node, #name);
  FUNCTIONS(LOOK_UP)
}
`
}
