/**
 * The command `pnpm test:symbols`, which compiles programs with faults by every compiler that is installed (gcc, clang 14 to 19, rustc), at
 * each level of optimization, with DWARF 4 and 5, compressed and with separate debug files, and compares the functions, files and lines of
 * every instruction with those of addr2line, and where these differ, of llvm-addr2line. Then it reads a debug file of 500 MiB. It prints a table, and ends with 1 if a line is wrong.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DebugInfo } from '../src/debug-info/debug-info.ts'
import { compileFaults, splitDebugFile, writeFaultSources } from '../test/debug-info/build-faults.ts'
import { compareWithAddr2line, type Comparison } from '../test/debug-info/compare-lines.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-symbols-'))

const isInstalled = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

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

/** Reads the ranges of clang's inlined functions in DWARF 5 (DW_FORM_rnglistx), which addr2line 2.40 leaves out. */
const second = ['llvm-addr2line', ...['19', '16', '14'].map((version) => `llvm-addr2line-${version}`)].find(isInstalled)

let failed = false

function report(name: string, { same, unknown, excused, wrong }: Comparison): void {
  const numbers = [same, excused, unknown, wrong.length].map((number) => String(number).padStart(8)).join('')
  console.log(`${name.padEnd(64)}${numbers}`)
  for (const text of wrong.slice(0, 3)) console.log(`  ${text}`)
  failed ||= wrong.length > 0
}

async function compareCompilers(): Promise<void> {
  const sources = writeFaultSources(directory)
  const clangs = ['14', '15', '16', '17', '18', '19']
    .map((version) => `clang-${version}`)
    .filter((name) => second !== undefined && isInstalled(name))
  if (second === undefined) console.log('clang was left out, because llvm-addr2line is not installed')
  console.log(`compilers: gcc${clangs.map((name) => `, ${name}`).join('')}`)
  console.log(`${'library'.padEnd(64)}    same excused unknown   wrong`)
  for (const compiler of [undefined, ...clangs]) {
    for (const source of sources) {
      const program = source.endsWith('.c') ? compiler : compiler?.replace('clang', 'clang++')
      for (const level of ['-O0', '-O1', '-O2', '-O3']) {
        for (const more of [['-gdwarf-4'], ['-gdwarf-5'], ['-gdwarf-5', '-gz'], ['-gdwarf-4', '-ffunction-sections']]) {
          const flags = ['-g', level, ...more]
          const path = await compileFaults(directory, source, flags, program)
          report(`${program ?? 'gcc'} ${source} ${flags.join(' ')}`, compareWithAddr2line(path, path, second))
          if (more.length === 1) {
            const debugPath = await splitDebugFile(path)
            report(
              `${program ?? 'gcc'} ${source} ${flags.join(' ')}, stripped`,
              compareWithAddr2line(path, debugPath, second),
            )
          }
          rmSync(path)
        }
      }
    }
  }
}

function compareRust(): void {
  const program = ['rustc', join(homedir(), '.cargo/bin/rustc')].find(isInstalled)
  if (program === undefined) {
    console.log('Rust was left out, because rustc is not installed')
    return
  }
  writeFileSync(join(directory, 'faults.rs'), rust)
  for (const level of ['0', '1', '2', '3']) {
    const path = join(directory, `rust-${level}.so`)
    const flags = ['-g', '-C', `opt-level=${level}`, '--crate-type=cdylib', '-o', path, 'faults.rs']
    execFileSync(program, flags, { cwd: directory, stdio: 'ignore' })
    report(`rustc -g -C opt-level=${level}`, compareWithAddr2line(path, path, second))
    rmSync(path)
  }
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
    console.log(JSON.stringify({ frames, time: performance.now() - start, memory: process.resourceUsage().maxRSS / 1024 }))`
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  const { frames, time, memory } = JSON.parse(output) as {
    readonly frames: ReturnType<DebugInfo['locate']>
    readonly time: number
    readonly memory: number
  }
  console.log(
    `a debug file of ${Math.round(size)} MiB: three functions in ${Math.round(time)} ms, the process has ${Math.round(memory)} MiB`,
  )
  const isRight = frames.every((frame) => frame?.function === 'deep' && frame.line !== undefined && frame.line > 18_000)
  if (!isRight || size < 500 || time > 5000 || memory > 200) {
    console.log(`must find the lines in a file of 500 MiB within 5 s and 200 MiB, got ${JSON.stringify(frames)}`)
    failed = true
  }
}

try {
  if (process.argv[2] !== '--large') {
    await compareCompilers()
    compareRust()
  }
  readLargeFile()
} finally {
  rmSync(directory, { recursive: true })
}
process.exitCode = failed ? 1 : 0
