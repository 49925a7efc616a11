import { runtime } from '@tenon/core/internal'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon, type Finished } from './run-tenon.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const compiler = pathOf('../../../node_modules/typescript/bin/tsc')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-registered-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(pathOf('..'), join(directory, 'node_modules/tenon'))
  write('package.json', '{"type":"module"}')
  const options = ['-shared', '-fPIC', '-I', pathOf('../../core/include'), '-o', 'libshapes.so']
  execFileSync(process.env['CC'] ?? 'cc', [...options, pathOf('fixtures/registered.c')], { cwd: directory })
})
afterAll(() => rmSync(directory, { recursive: true }))

const write = (name: string, text: string): void => writeFileSync(join(directory, name), text)
const read = (name: string): string => readFileSync(join(directory, name), 'utf8')
const run = (...args: string[]): Finished => runTenon(['types', 'libshapes.so', ...args], { cwd: directory })

let printed: Finished | undefined
/** The declarations with the names that are the default. */
const declared = (): Finished => (printed ??= run('--registered'))

/** The lines of a class in declarations. */
function classIn(text: string, name: string): string[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.includes(`class ${name} `))
  const end = lines.indexOf('}', start)
  return lines.slice(start, end).filter((line) => !/^ {2}(?:\/\*\*| \*)/.test(line))
}

/** The errors of the compiler in files of the project, with all checks of `strict` and without `skipLibCheck`. */
const compile = (...files: string[]): string[] => compileWith({}, ...files)

/** The same with other options of the compiler. */
function compileWith(others: object, ...files: string[]): string[] {
  const options = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, skipLibCheck: false, types: [] }
  const compilerOptions = {
    ...options,
    allowImportingTsExtensions: true,
    ...others,
  }
  write('tsconfig.json', JSON.stringify({ compilerOptions, files }))
  try {
    execFileSync(process.execPath, [compiler, '-p', '.'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' })
    return []
  } catch (error) {
    // The declarations of the packages need the types of Node.js, and are not checked here.
    const lines = (error as { stdout: string }).stdout.split('\n')
    return lines.filter((line) => files.some((file) => line.startsWith(file)))
  }
}

describe('tenon types', () => {
  test('reads files, and tells how to include what a library registers', () => {
    const { code, stderr } = run()
    expect(code).toBe(1)
    expect(stderr).toBe(
      'tenon types: libshapes.so registers types and functions when it is loaded\n' +
        'hint: Pass --registered to load the library and to include what it registers.\n',
    )
    for (const flag of ['--prefix=shapes', '--names=camel', '--refine=x.json']) {
      expect(run(flag)).toMatchObject({ code: 2, stdout: '' })
    }
  })

  test('--check compares the files for registered types', () => {
    run('--registered', '--output', 'checked.js')
    expect(run('--registered', '--output', 'checked.js', '--check').code).toBe(0)
    expect(run('--registered', '--output', 'checked.js', '--check', '--names', 'original').code).toBe(1)
  })
})

describe('what is declared', () => {
  test('is what the library registers, without the names of tvm-ffi, by depth and then by key', () => {
    const { stdout, stderr } = declared()
    expect(
      [...stdout.matchAll(/^(?:export|declare) class (\S+) extends (\S+)/gm)].map(([, a, b]) => `${a} ${b}`),
    ).toEqual([
      'other_Point NativeObject',
      'Made NativeObject',
      '$Map NativeObject',
      'shapes_Point NativeObject',
      'Sealed NativeObject',
      'evil___1____ NativeObject',
      '$string NativeObject',
      'Circle $BaseOfCircle',
    ])
    expect([...stdout.matchAll(/^(?:export|declare) function (\S+)\(/gm)].map(([, name]) => name)).toEqual([
      'shapes_Map',
      'circles',
      'echo',
      'sum',
      '$unknown',
    ])
    expect(stdout).toContain('export { $Map as Map }\n')
    expect(stderr).toContain('left out, because the names cannot be exported from a module: shapes.delete, ')
    expect(stderr).toContain('shapes.then\n')
  })

  test('--prefix keeps what is below a key', () => {
    const { stdout } = run('--registered', '--prefix', 'other')
    expect(stdout).toContain('export class Point extends NativeObject {')
    expect(stdout).not.toContain('Circle')
    expect(run('--registered', '--prefix', 'oth')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('libshapes.so registers no type and no function below oth\n') as string,
    })
  })
})

describe('declarations of classes', () => {
  test('a class has a constructor of its fields, accessors, methods and docs', () => {
    const { stdout } = declared()
    expect(classIn(stdout, 'shapes_Point')).toEqual([
      'export class shapes_Point extends NativeObject {',
      '  static of(a0: number | bigint): NativeObject',
      '  constructor(x_position: number | bigint, y?: number)',
      '  constructor(...values: [x_position: number | bigint, y: number, named: Kwargs] | [x_position: number | bigint, named: Kwargs] | [named: Kwargs])',
      '  get xPosition(): number | bigint',
      '  set xPosition(value: number | bigint)',
      '  get y(): number',
      '  set y(value: number)',
      '  sumWith(a0: number | bigint): number',
      '  same(): shapes_Point',
      '  then_(): number | bigint',
      String.raw`  "x\"](): any; [\"y"(): number | bigint`,
    ])
    expect(stdout).toContain('  /**\n   * Does it.\n   *\n   * Twice.\n   */\n  sumWith(')
    // A field with a default stands behind the others, also if a function makes the default.
    expect(classIn(stdout, 'Made')).toContain('  constructor(later: number, sooner?: number | bigint)')
    expect(classIn(stdout, 'Sealed')).toEqual([
      'export class Sealed extends NativeObject {',
      '  protected constructor()',
    ])
  })

  test('a class that declares members differently extends a base without them, and repeats no other', () => {
    const { stdout } = declared()
    expect(stdout).toContain(
      'declare const $BaseOfCircle: (abstract new (...values: never[]) => NativeObject & Omit<shapes_Point, keyof NativeObject | "sumWith">) & ' +
        'Omit<typeof shapes_Point, "prototype" | "of">',
    )
    expect(classIn(stdout, 'Circle')).toEqual([
      'export class Circle extends $BaseOfCircle {',
      '  static of(a0: number | bigint, a1: number | bigint): Circle',
      '  constructor(a0: number | bigint, a1?: number | bigint | null)',
      '  get radius(): number | bigint',
      '  sumWith(): string',
      '  toString(): string',
    ])
  })

  test('--names original keeps the names of the library', () => {
    const lines = classIn(run('--registered', '--names', 'original').stdout, 'Circle')
    expect(lines).toContain('  sum_with(): string')
    expect(lines).toContain('  to_string(): string')
  })

  test('a function without types takes and returns any values, and only that one does', () => {
    const { stdout, stderr } = declared()
    expect(stdout).toContain('export function echo(...values: Argument[]): Value\n')
    expect(stdout).toContain('export function sum(a0: shapes_Point, a1?: number | bigint | null): number\n')
    expect(stdout).toContain('  function async(a0: shapes_Point, a1?: number | bigint | null): Promise<number>\n')
    const typed = stdout.split('\n').filter((line) => /\b(?:Argument|Value)\b/.test(line) && !line.startsWith('import'))
    // Those of echo, and those of the method whose metadata is not JSON.
    expect(typed).toEqual([
      '  to_string(...values: Argument[]): Value',
      'export function echo(...values: Argument[]): Value',
      '  function async(...values: Argument[]): Promise<Value>',
    ])
    expect(stdout).toContain('declare function $unknown(a0: Sealed): NativeObject\n')
    expect(stderr).toContain('NativeObject, because these types are not declared: shapes.Absent\n')
  })
})

describe('--refine', () => {
  const refined = (value: unknown): Finished => {
    write('refine.json', typeof value === 'string' ? value : JSON.stringify(value))
    return run('--registered', '--refine', 'refine.json')
  }

  test('replaces the results of methods and functions', () => {
    const list = { type: 'ffi.Array', args: [{ type: 'shapes.Circle' }] }
    const { stdout } = refined({ 'shapes.Point.of': 'shapes.Circle', 'shapes.circles': list })
    expect(classIn(stdout, 'shapes_Point')).toContain('  static of(a0: number | bigint): Circle')
    // A call does not convert what the library declares as an object.
    expect(stdout).toContain('export function circles(a0: number | bigint): NativeArray<Circle>\n')
  })

  test('refuses files that are not valid', () => {
    expect(refined('{').stderr).toContain('refine.json is not JSON: ')
    expect(refined('[1]').stderr).toContain('refine.json must be a JSON object, got [1]\n')
    const { code, stderr } = refined({ 'shapes.Point.off': 'shapes.Circle' })
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('shapes.Point.of') as string })
    expect(stderr).toContain('refines shapes.Point.off, which the library does not register\n')
    expect(refined({ 'shapes.Point.of': { type: 1 } }).stderr).toContain(
      'the type of shapes.Point.of must be a type key or a schema, got {"type":1}',
    )
    expect(run('--registered', '--refine', 'absent.json').stderr).toContain('cannot open absent.json: no such file')
  })
})

/** A use of the classes and functions, which the compiler accepts. */
const use = `import { registerClass } from 'tenon/packed-func'
import * as shapes from './shapes.js'
import { Circle, Map, Sealed, shapes_Point as Point, sum } from './shapes.js'
const point = new Point(2)
export const a: number = sum(point) + sum(point, 1) + point.sumWith(3) + point.y
export const b: string = new Circle(1).sumWith() + String(new Circle(1))
export const c: Point = point.same()
export const d: Circle = Point.of(1).as(Circle)
export const e: Map | Sealed | undefined = undefined
export const f: Promise<number> = sum.async(point)
class Mine extends registerClass('shapes.Sealed', class extends Sealed { extra = 1 }) {}
export const g = (object: Sealed): Mine => object.as(Mine)
// @ts-expect-error
new Sealed()
// @ts-expect-error
new Point('x')
// @ts-expect-error
Point.of(1).radius
// @ts-expect-error
shapes.evil
`

describe('the written files', () => {
  beforeAll(() => {
    run('--registered', '--output', 'shapes.js')
    run('--registered', '--names', 'original', '--output', 'original.js')
  })

  test('compile with strict and without skipLibCheck', () => {
    write('use.ts', use)
    expect(compile('shapes.d.ts', 'original.d.ts', 'use.ts')).toEqual([])
  }, 60_000)

  test('compile as TypeScript with the checks for modules that are compiled one by one, and for code that is not used', () => {
    run('--registered', '--output', 'shapes.ts')
    write('use.ts', use.replaceAll('./shapes.js', './shapes.ts'))
    const checks = { isolatedModules: true, isolatedDeclarations: true, declaration: true, erasableSyntaxOnly: true }
    const unused = { noUnusedLocals: true, noUnusedParameters: true, noImplicitReturns: true }
    try {
      const node = { typeRoots: [pathOf('../../../node_modules/@types')], types: ['node'] }
      expect(compileWith({ ...checks, ...unused, ...node }, 'shapes.ts')).toEqual([])
      expect(compileWith({ ...unused, ...node }, 'shapes.ts', 'use.ts')).toEqual([])
    } finally {
      rmSync(join(directory, 'shapes.ts'))
    }
  }, 120_000)

  test('run, open the library at the first call, and have no code of names', () => {
    write(
      'use.js',
      `import { inspect } from 'node:util'
import { kwargs, methodOf, registerClass } from 'tenon/packed-func'
import * as shapes from './shapes.js'
import { Circle, Made, Sealed, shapes_Point as Point, circles, echo, sum } from './shapes.js'
const print = (...values) => console.log(...values.map(String))
print(inspect(Circle).includes('[Function: Circle]'), Object.keys(shapes).length)
const point = new Point(2)
print(point instanceof Point, point instanceof Circle, point.xPosition, point.y, sum(point), sum(point, 1), point.sumWith(3))
print(new Point(1, kwargs({ y: 4 })).y, await sum.async(point), echo('x'), Point.typeKey, Point.name, sum.name)
const circle = Point.of(7)
print(circle instanceof Circle, circle instanceof Point, circle.radius, circle.sumWith(), circle, circle.as(Circle).x_position)
print(new Circle(3).radius, methodOf(Circle, 'to_string')(circle), 'of' in Circle, Object.keys(Object.getOwnPropertyDescriptors(Circle)).includes('prototype'))
class Mine extends Circle { get twice() { return 2 * this.radius } }
print(new Mine(4).twice, new Mine(4) instanceof Circle)
try { new Circle() } catch (error) { print(error.message.split('\\n')[0], new Circle(1, null).radius) }
registerClass('shapes.Circle', Mine)
print(circles(5).twice, methodOf(Mine, 'to_string')(circle))
try { new Sealed() } catch (error) { print(error.name, error.message.split('\\n')[0]) }
print(new Made(1.5).sooner, new Made(1.5, 8).sooner, globalThis.evil)
`,
    )
    const output = execFileSync(process.execPath, ['use.js'], { cwd: directory, encoding: 'utf8' })
    expect(output.split('\n')).toEqual([
      'true 13',
      'true false 2 1.5 3.5 4.5 6.5',
      '4 3.5 x shapes.Point Point sum',
      'true true 7 a circle of the fixture a circle of the fixture 7',
      '3 a circle of the fixture true true',
      '8 true',
      'Circle takes 2 values 1',
      '10 a circle of the fixture',
      'PackedFuncTypeError Sealed has no constructor',
      '7 8 undefined',
      '',
    ])
  })

  test('are modules that can be imported without the library', () => {
    write('moved.js', read('shapes.js').replace('./libshapes.so', './absent.so'))
    const code = `import { Circle, sum } from './moved.js'
for (const use of [() => new Circle(1), () => Circle.of(1), () => ({}) instanceof Circle, () => sum()])
  try { use() } catch (error) { console.log(error.code) }`
    const output = execFileSync(process.execPath, runtime.moduleArguments([], code), {
      cwd: directory,
      encoding: 'utf8',
    })
    expect(output).toBe('TENON_LOAD\n'.repeat(4))
  })
})
