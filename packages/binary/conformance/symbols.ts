/**
 * The command `pnpm test:symbols`, which compiles programs with faults by every compiler that is installed (gcc, clang 14 to 19, rustc, gcc for
 * arm64), at each level of optimization, with DWARF 4 and 5, compressed and with separate debug files, and compares the functions, files and lines
 * of every instruction with those of addr2line, and where these differ, of llvm-addr2line. Then it reads 10,000 damaged files, and a debug file
 * of 500 MiB. It prints a table, and ends with 1 if a line is wrong. Words behind the command are the parts that run.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { DebugInfo } from '../src/debug-info/debug-info.ts'
import { differences, framesOf } from '../test/debug-info/all-frames.ts'
import { compileFaults, splitDebugFile, writeFaultSources } from '../test/debug-info/build-faults.ts'
import { findCompilers } from '../test/debug-info/compilers.ts'
import { compareWithAddr2line, type Comparison } from '../test/debug-info/compare-lines.ts'
import { areasOf, changed, codeOf, HOSTILE_VALUES, lookUp, WIDTHS } from '../test/debug-info/damage.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-symbols-'))

const rust = `use std::collections::HashMap;
pub trait Shape { fn area(&self) -> f64; }
pub struct Square<T, const N: usize>(pub [T; N]);
impl<T: Copy + Into<f64>, const N: usize> Shape for Square<T, N> {
    #[inline(never)]
    fn area(&self) -> f64 { self.0.iter().map(|x| (*x).into()).sum() }
}
mod inner { #[inline(always)] pub fn divide(x: i32) -> i32 { 10 / x } }
#[no_mangle]
pub extern "C" fn kernel(n: i32) -> f64 {
    let mut map: HashMap<String, Vec<i32>> = HashMap::new();
    map.entry("a".to_string()).or_default().push(n);
    let shape: Box<dyn Shape> = Box::new(Square::<i32, 3>([n, 2, 3]));
    shape.area() + inner::divide(n) as f64 + map["a"][n as usize] as f64
}
`

const { c: compilers, rust: rustc, arm64, llvmAddr2line: second, missing } = findCompilers()

let failed = false

function report(name: string, { same, unknown, excused, wrong }: Comparison): void {
  const numbers = [same, excused, unknown, wrong.length].map((number) => String(number).padStart(8)).join('')
  console.log(`${name.padEnd(64)}${numbers}`)
  for (const text of wrong.slice(0, 3)) console.log(`  ${text}`)
  failed ||= wrong.length > 0
}

const LEVELS = ['-O0', '-O1', '-O2', '-O3']

async function compareCompiler(name: string, program: (isC: boolean) => string, prefix = ''): Promise<void> {
  for (const source of writeFaultSources(directory)) {
    const compiler = program(source.endsWith('.c'))
    for (const level of LEVELS) {
      for (const more of [['-gdwarf-4'], ['-gdwarf-5'], ['-gdwarf-5', '-gz'], ['-gdwarf-4', '-ffunction-sections']]) {
        const flags = ['-g', level, ...more]
        const path = await compileFaults(directory, source, flags, compiler)
        report(`${compiler} ${source} ${flags.join(' ')}`, compareWithAddr2line(path, path, { second, prefix }))
        if (more.length === 1) {
          const debugPath = await splitDebugFile(path, prefix)
          report(
            `${compiler} ${source} ${flags.join(' ')}, stripped`,
            compareWithAddr2line(path, debugPath, { second, prefix }),
          )
        }
        rmSync(path)
      }
    }
    await compareSplitUnits(`${compiler} ${source}`, source, compiler)
  }
  console.log(`${name} done`)
}

/** Compares the frames of `-gsplit-dwarf`, which addr2line does not read, with those of the same code in one file. */
async function compareSplitUnits(name: string, source: string, compiler: string): Promise<void> {
  for (const version of ['-gdwarf-4', '-gdwarf-5']) {
    const flags = ['-g', '-O2', version]
    const expected = framesOf(await compileFaults(directory, source, flags, compiler))
    const got = framesOf(await compileFaults(directory, source, [...flags, '-gsplit-dwarf'], compiler))
    const wrong = differences(got, expected)
    report(`${name} -O2 ${version} -gsplit-dwarf`, {
      same: expected.length - wrong.length,
      unknown: 0,
      excused: 0,
      wrong,
    })
  }
}

function compareRust(program: string): void {
  writeFileSync(join(directory, 'faults.rs'), rust)
  for (const level of ['0', '1', '2', '3']) {
    const path = join(directory, `rust-${level}.so`)
    const flags = ['-g', '-C', `opt-level=${level}`, '--crate-type=cdylib', '-o', path, 'faults.rs']
    execFileSync(program, flags, { cwd: directory, stdio: 'ignore' })
    report(`rustc -g -C opt-level=${level}`, compareWithAddr2line(path, path, { second }))
    rmSync(path)
  }
}

/** The most memory that a process had, in MiB. Other than that of `getrusage()`, it is not that of the process before `exec()`. */
const mostMemory = (status: string): number => Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) / 1024

const DAMAGED_FILES = 10_000

/** Reads files with changed bytes, which must be refused or give something within time and memory. */
async function readDamagedFiles(): Promise<void> {
  writeFaultSources(directory)
  const kinds = await Promise.all(
    [['-gdwarf-4'], ['-gdwarf-5'], ['-gdwarf-5', '-gz'], ['-gdwarf-5', '-gsplit-dwarf']].map(async (more) => {
      const path = await compileFaults(directory, 'inlined.cc', ['-g', '-O2', ...more])
      const image = readFileSync(path)
      return { code: codeOf(path), image, areas: areasOf(path, image.length) }
    }),
  )
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  // A generator of Park and Miller, so that each run reads the same files.
  let state = 20_261_130
  const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below
  const path = join(directory, 'damaged.so')
  let slowest = 0
  let refused = 0
  for (let number = 0; number < DAMAGED_FILES; number += 1) {
    const { code, image, areas } = kinds[number % kinds.length]!
    const changes = Array.from({ length: 1 + random(5) }, () => ({
      area: random(areas.length),
      position: random(2 ** 30),
      value: random(2) === 0 ? HOSTILE_VALUES[random(HOSTILE_VALUES.length)]! : random(256),
      width: WIDTHS[random(WIDTHS.length)]!,
    }))
    writeFileSync(path, changed(image, areas, changes))
    const start = performance.now()
    if (lookUp(path, code) === 0) refused += 1
    slowest = Math.max(slowest, performance.now() - start)
    // The memory of one file counts, and not what earlier ones have left. zlib releases its own when the event loop turns.
    if (number % 20 === 0) {
      await setImmediate()
      collectGarbage()
    }
  }
  const memory = mostMemory(readFileSync('/proc/self/status', 'utf8'))
  console.log(
    `${DAMAGED_FILES} damaged files: ${refused} refused or without names, the slowest took ${Math.round(slowest)} ms, the process had at most ${Math.round(memory)} MiB`,
  )
  if (slowest < 2000 && memory < 256) return
  console.log('must read each damaged file within 2 s and 256 MiB')
  failed = true
}

/** Links copies of one object until its debug information has 500 MiB, and looks up addresses in it. */
function readLargeFile(): void {
  const structs = Array.from({ length: 9000 }, (_, index) => {
    const fields = Array.from({ length: 12 }, (_none, field) => `int field_${index}_${field};`).join(' ')
    return `struct type_${index} { ${fields} struct type_${index} *next; };`
  })
  const uses = structs.map((_text, index) => `struct type_${index} *variable_${index};`)
  writeFileSync(
    join(directory, 'large.c'),
    `${structs.join('\n')}\n${uses.join('\n')}\nint deep(int *p)\n{\n  return *p;\n}\n`,
  )
  execFileSync('gcc', ['-g', '-O0', '-fPIC', '-c', '-o', 'large.o', 'large.c'], { cwd: directory })
  const copies = Math.ceil((500 * 2 ** 20) / statSync(join(directory, 'large.o')).size) * 3
  const names = Array.from({ length: copies }, (_, index) => {
    execFileSync('objcopy', [`--prefix-symbols=n${index}_`, 'large.o', `large-${index}.o`], { cwd: directory })
    return `large-${index}.o`
  })
  execFileSync('gcc', ['-shared', '-o', 'large.so', ...names], { cwd: directory })
  const path = join(directory, 'large.so')
  const size = statSync(path).size / 2 ** 20
  const symbols = execFileSync('nm', [path], { encoding: 'utf8', maxBuffer: 2 ** 30 })
  const addresses = [...symbols.matchAll(/^([0-9a-f]+) T n\d+_deep$/gm)].map(([, address]) =>
    Number.parseInt(address!, 16),
  )
  const script = `
    const { DebugInfo } = await import(${JSON.stringify(new URL('../src/debug-info/debug-info.ts', import.meta.url).href)})
    const start = performance.now()
    const info = DebugInfo.open(${JSON.stringify(path)})
    const frames = ${JSON.stringify([0.1, 0.4, 0.9].map((part) => addresses[Math.floor(addresses.length * part)]))}.map((address) => info.locate(address + 4)[0])
    const time = performance.now() - start
    const { readFileSync } = await import('node:fs')
    console.log(JSON.stringify({ frames, time, status: readFileSync('/proc/self/status', 'utf8') }))`
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  const { frames, time, status } = JSON.parse(output) as {
    readonly frames: ReturnType<DebugInfo['locate']>
    readonly time: number
    readonly status: string
  }
  const memory = mostMemory(status)
  console.log(
    `a debug file of ${Math.round(size)} MiB: three functions in ${Math.round(time)} ms, the process has ${Math.round(memory)} MiB`,
  )
  const isRight = frames.every((frame) => frame?.function === 'deep' && frame.line !== undefined && frame.line > 18_000)
  if (!isRight || size < 500 || time > 5000 || memory > 200) {
    console.log(`must find the lines in a file of 500 MiB within 5 s and 200 MiB, got ${JSON.stringify(frames)}`)
    failed = true
  }
}

/** The parts of the command by name. The memory of reading damaged files is measured before the others use some. */
const parts: Readonly<Record<string, () => Promise<void> | void>> = {
  damaged: readDamagedFiles,
  ...Object.fromEntries(
    compilers.map((name) => {
      const program = (isC: boolean): string => (isC ? name : name.replace('clang', 'clang++').replace('gcc', 'g++'))
      return [name, async () => compareCompiler(name, program)]
    }),
  ),
  ...(rustc === undefined ? {} : { rust: () => compareRust(rustc) }),
  ...(arm64 === undefined
    ? {}
    : { arm64: async () => compareCompiler('arm64', (isC) => `${arm64}${isC ? 'gcc' : 'g++'}`, arm64) }),
  large: readLargeFile,
}

try {
  for (const sentence of missing) console.log(sentence)
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts)
  console.log(`parts: ${wanted.join(', ')}`)
  console.log(`${'library'.padEnd(64)}    same excused unknown   wrong`)
  for (const name of wanted) {
    const part = parts[name]
    if (part === undefined) throw new Error(`the parts are ${Object.keys(parts).join(', ')}, got ${name}`)
    await part()
  }
} finally {
  rmSync(directory, { recursive: true })
}
process.exitCode = failed ? 1 : 0
