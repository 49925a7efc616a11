import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ToolError } from '@tenon/build'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'

import { annotate, type Annotations, readModel, writeModule } from '../src/index.ts'
import { readAnswers, type Question } from '../src/probe/probe-object.ts'
import { readDeclarations } from '../src/read/declarations.ts'
import { tokenize } from '../src/read/tokens.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const runs = (numRuns: number): { numRuns: number; interruptAfterTimeLimit?: number } =>
  seconds > 0 ? { numRuns: Infinity, interruptAfterTimeLimit: seconds * 1000 } : { numRuns }

const directory = mkdtempSync(join(tmpdir(), 'tenon-bind-fuzz-'))
afterAll(() => rmSync(directory, { recursive: true }))

const torture = fileURLToPath(new URL('torture.h', import.meta.url))
const header = readFileSync(torture, 'utf8')

/** A change of a text: some characters are replaced by others, or by a part of the text from elsewhere, once or many times. */
const change = fc.record({
  at: fc.nat(),
  length: fc.nat(60),
  from: fc.nat(),
  copied: fc.nat(200),
  times: fc.constantFrom(1, 1, 1, 2, 50),
  inserted: fc.constantFrom(
    ...['', '(', ')', '{', '}', '[', ']', ';', ',', '*', '"', "'", '#', '\\', '\n', '\0', '\u00e9', ':', '=', '...'],
    ...[
      'struct ',
      'union ',
      'enum ',
      'typedef ',
      'int ',
      '__attribute__',
      '_Complex ',
      'typeof',
      '#define X X',
      '/*',
      '//',
    ],
  ),
})
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

function mutate(text: string, changes: readonly Change[]): string {
  let changed = text
  for (const { at, length, from, copied, times, inserted } of changes) {
    const [start, source] = [at % (changed.length + 1), from % (changed.length + 1)]
    const added = inserted === '' ? changed.slice(source, source + copied) : inserted
    changed = changed.slice(0, start) + added.repeat(times) + changed.slice(start + length)
  }
  return changed
}

const changes = fc.array(change, { minLength: 1, maxLength: 6 })

test('changed output of a preprocessor is read or reported', () => {
  const texts = ['stdio.h', 'math.h', 'signal.h'].map((name) => {
    const unit = join(directory, 'unit.c')
    writeFileSync(unit, `#include <${name}>\n#include ${JSON.stringify(torture)}\n`)
    return execFileSync(process.env['CC'] ?? 'cc', ['-E', '-dD', unit], { encoding: 'utf8' })
  })
  fc.assert(
    fc.property(fc.constantFrom(...texts), changes, (text, made) => {
      const { problems, functions } = readDeclarations(tokenize(mutate(text, made)).tokens)
      for (const { message } of problems) expect(message).toMatch(/expected|is not closed|is not a type/)
      for (const { name } of functions.values()) expect(name).not.toBe('')
    }),
    runs(200),
  )
})

test('a changed header is bound, or refused with an error of bind', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(changes, async (made) => {
      const path = join(directory, `changed${count++ % 4}.h`)
      writeFileSync(path, mutate(header, made))
      try {
        const model = await readModel([path], { shim: { libraries: [] }, timeout: 20_000 })
        writeModule(model, { libraries: [] })
        JSON.stringify(model, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
      } catch (error) {
        if (!(error instanceof ToolError)) throw error
      }
    }),
    runs(4),
  )
})

test('annotations of any kind give a module, or are refused with their place', async () => {
  const path = join(directory, 'annotated.h')
  writeFileSync(
    path,
    `typedef struct db db; typedef struct row row; struct api { int (*run)(db *d, row **out); void (*end)(row *r); };
     int db_open(const char *name, db **out); int db_close(db *d); int db_query(db *d, const char *q, int n, row **out);
     void row_free(row *r); const char *db_error(db *d); int db_list(const char **names, int count, long *sizes);
     void *db_copy(const void *p, unsigned long n); int db_visit(db *d, int (*visit)(int, void *), void *data); char class(short new);`,
  )
  const model = await readModel([path])
  const word = fc.constantFrom(
    ...[
      'result',
      'status',
      'text',
      'pointer',
      'number',
      'nullable',
      'nonnull',
      'omit',
      'plain',
      'retains',
      'call',
      'texts',
      'pointers',
    ],
    ...[
      'length(q)',
      'length(names)',
      'count(names)',
      'count(r)',
      'length(',
      'inout',
      'length-of-result',
      '',
      'constructor',
      '__proto__',
    ],
    ...[
      'db_close',
      'row_free',
      'db_error(d)',
      'db_error',
      'db',
      'row',
      'Database',
      'class',
      'api',
      'run',
      'end',
      'd',
      'out',
      '1',
    ],
  )
  const key = fc.constantFrom(
    ...[
      'return',
      'result',
      'async',
      'errno',
      'rename',
      'name',
      'out',
      'd',
      'q',
      'n',
      'r',
      'names',
      'count',
      'sizes',
      'visit',
      'data',
      'new',
    ],
    ...[
      'handle',
      'close',
      'within',
      'evenOnError',
      'finalize',
      'text',
      'free',
      'results',
      'each',
      'inout',
      'type',
      'success',
      'message',
    ],
    ...['otherwise', 'code', 'release', 'table', 'status', 'nullable'],
  )
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      word,
      fc.constantFrom(true, 0, 1, [0, 100]),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  })).value
  const members = fc.dictionary(key, value, { maxKeys: 5 })
  const names = fc.constantFrom(
    ...model.functions.map(({ name }) => name),
    'db_*',
    '*',
    'api.run',
    'api.end',
    'api.*',
    'none',
  )
  const annotations = fc.record(
    {
      tenon: fc.constant(1),
      functions: fc.dictionary(names, members, { maxKeys: 5 }),
      handles: fc.dictionary(word, members, { maxKeys: 2 }),
      status: members,
      tables: fc.dictionary(fc.constantFrom('api', 'db', 'none'), members, { maxKeys: 1 }),
    },
    { requiredKeys: ['tenon'] },
  )
  let written = 0
  fc.assert(
    fc.property(annotations, (one) => {
      try {
        writeModule(annotate(model, one as unknown as Annotations), { libraries: [] })
        written++
      } catch (error) {
        if (!(error instanceof ToolError)) throw error
      }
    }),
    runs(3000),
  )
  expect(written).toBeGreaterThan(0)
})

test('answers are read from changed objects, or refused', () => {
  const marker = randomBytes(16)
  const questions: readonly Question[] = [
    { kind: 'word', expression: '' },
    { kind: 'double', expression: '' },
    { kind: 'bytes', declaration: '', initialiser: '' },
    { kind: 'bytes', declaration: '', initialiser: '' },
    { kind: 'word', expression: '' },
  ]
  const words = new BigUint64Array([7n, 0x3ff8000000000000n, 72n, 5n, 77n, 3n, 9n])
  const object = Buffer.concat([randomBytes(200), marker, new Uint8Array(words.buffer), Buffer.from('first234')])
  const isAsked = questions.map(() => true)
  expect(readAnswers(object, questions, isAsked, marker)).toEqual([
    7n,
    1.5,
    new Uint8Array(Buffer.from('first')),
    new Uint8Array(Buffer.from('234')),
    9n,
  ])
  const edit = fc.record({ at: fc.nat(), bytes: fc.uint8Array({ maxLength: 12 }), cut: fc.nat(40) })
  fc.assert(
    fc.property(
      fc.array(edit, { minLength: 1, maxLength: 5 }),
      fc.nat(object.length),
      fc.boolean(),
      (edits, end, twice) => {
        let bytes = Buffer.from(object.subarray(0, twice ? object.length : end))
        for (const { at, bytes: written, cut } of edits) {
          const start = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, start), written, bytes.subarray(start + cut)])
        }
        if (twice) bytes = Buffer.concat([bytes, object])
        try {
          expect(readAnswers(bytes, questions, isAsked, marker)).toHaveLength(questions.length)
        } catch (error) {
          if (!(error instanceof ToolError)) throw error
        }
      },
    ),
    runs(2000),
  )
})
