import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { NativeScope } from '@tenon/scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon } from '../run-tenon.ts'
import type { Bound } from './bound-store.ts'
import { typeCheck } from './type-check.ts'

// In the package, so that the modules find tenon.
const directory = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'letters-'))
afterAll(() => rmSync(directory, { recursive: true }))
const at = (name: string): string => join(directory, name)

const header = `#define ÜBER 5
#define MEHR (ÜBER + 1)
#define GRUSS "\\u00fcber \\\\u00fc"
#define ZAHLEN(größe) ((größe) + ÜBER)
/** Die Größe.
 * @param länge die Länge */
int größe(int länge);
typedef struct käse { int länge; unsigned breit : 3; char name[8]; } käse;
enum farbe { GRÜN = 2, ROT };
int essen(käse *käse, enum farbe f);
extern int zähler;
int \\u00e4hnlich(void);
int 名前(void);
int 𝒳(int größe);
int x²(int y²);
static inline int zwölf(void) { return 12; }
int öffnen(const char *wort, int länge, käse **ausgang);
void schließen(käse *käse);
`
const source = `#include "letters.h"
#include <stdlib.h>
#include <string.h>
int größe(int länge) { return länge * 2; }
int essen(käse *käse, enum farbe f) { return käse->länge + käse->breit + f; }
int zähler = 3;
int ähnlich(void) { return 1; }
int 名前(void) { return 5; }
int 𝒳(int größe) { return größe; }
int x²(int y²) { return y² * y²; }
int öffnen(const char *wort, int länge, käse **ausgang) {
  *ausgang = calloc(1, sizeof **ausgang);
  (*ausgang)->länge = länge;
  return wort[0] == 'x';
}
void schließen(käse *käse) { free(käse); }
`
const annotations = {
  tenon: 1,
  handles: { Käse: { type: 'käse', close: 'schließen' } },
  functions: {
    öffnen: { return: 'status', länge: 'length(wort)', ausgang: 'result', rename: 'aufmachen' },
    größe: { länge: { value: 'ÜBER' } },
  },
  status: { success: [0] },
  macros: { ZAHLEN: '(int) -> int' },
}

const compilers = ['gcc', 'clang'].filter((name) => spawnSync(name, ['--version']).status === 0)

describe.each(compilers)('a header with letters beyond ASCII, read by %s', (compiler) => {
  let bound: Bound
  beforeAll(async () => {
    writeFileSync(at('letters.h'), header)
    writeFileSync(at('letters.c'), source)
    writeFileSync(at('letters.json'), JSON.stringify(annotations))
    const library = at('libletters.so')
    const environment = { CC: compiler }
    execFileSync(compiler, ['-w', '-shared', '-fPIC', '-o', library, at('letters.c')])
    const { code, stderr } = runTenon(
      [
        'bind',
        at('letters.h'),
        '--library',
        library,
        '--shim',
        '--annotations',
        at('letters.json'),
        '--output',
        at(compiler),
      ],
      { environment },
    )
    expect(stderr).toMatch(/^10 functions, 5 constants, 1 struct, 1 variable, 1 handle in \d+\.\d s$/m)
    expect(code).toBe(0)
    bound = (await import(pathToFileURL(join(directory, compiler, 'index.js')).href)) as Bound
  })

  test('has functions, constants, members and variables of these names', () => {
    expect([bound['ÜBER'], bound['MEHR'], bound['GRUSS'], bound['GRÜN']]).toEqual([5, 6, 'über \\u00fc', 2])
    expect([bound['ähnlich'](), bound['名前'](), bound['𝒳'](7), bound['zähler'].value]).toEqual([1, 5, 7, 3])
    expect([bound['zwölf'](), bound['ZAHLEN'](1)]).toEqual([12, 6])
    using scope = NativeScope.ofConfined()
    const cheese = bound['käse'].allocate(scope)
    cheese.länge = 30
    cheese.breit = 2
    expect(bound['essen'](cheese, bound['GRÜN'])).toBe(34)
  })

  test('has names with the numbers of characters that JavaScript does not have in names', () => {
    expect(bound['x$b2'](4)).toBe(16)
  })

  test('takes annotations with these names', () => {
    expect(bound['größe']()).toBe(10)
    using handle = bound['aufmachen']('wort')
    expect(handle).toBeInstanceOf(bound['Käse'])
    expect(bound['käse'].of(handle).länge).toBe(4)
    expect(() => bound['aufmachen']('x')).toThrow('öffnen returned 1')
    expect(() => bound['aufmachen'](5)).toThrow(/^wort of öffnen must be /)
  })

  test('is declared with its comments, and accepted by the compiler of TypeScript', () => {
    const declarations = readFileSync(join(directory, compiler, 'index.d.ts'), 'utf8')
    expect(declarations).toContain(
      'Die Größe.\n * @param länge die Länge\n */\nexport declare function größe(): number',
    )
    expect(declarations).toContain("essen(käse: käse | Pointer<'käse'> | null, f: farbe): number")
    expect(declarations).toContain('export declare function x$b2(y$b2: number): number')
    expect(declarations).toContain('get länge(): number')
    const text = `import { aufmachen, type Käse } from './${compiler}/index.js'\nconst k: Käse = aufmachen('a')\nexport { k }`
    expect(typeCheck(directory, `${compiler}.ts`, text)).toBe('')
  })
})

test('gcc and clang give the same module', () => {
  const [first = '', second = first] = compilers.map((name) => readFileSync(join(directory, name, 'index.js'), 'utf8'))
  expect(second).toBe(first)
})
