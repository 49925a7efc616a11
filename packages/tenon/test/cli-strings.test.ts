import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon, type Finished } from './run-tenon.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tenon-strings-'))
  writeFileSync(join(cwd, 'words.txt'), 'one\n\nžluť\nlonger than a struct of TensorFlow\n')
})
afterAll(() => rmSync(cwd, { recursive: true }))

const run = (...args: string[]): Finished => runTenon(['strings', ...args], { cwd })

describe('tenon strings', () => {
  test('convert writes lines in every layout, and back', () => {
    for (const layout of ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']) {
      for (const abi of ['le64', 'be32']) {
        const made = run(
          'convert',
          'words.txt',
          '--from',
          'lines',
          '--to',
          layout,
          '--to-abi',
          abi,
          '--output',
          'words.bin',
        )
        expect(made).toEqual({ code: 0, stdout: '', stderr: '' })
        const back = run('convert', 'words.bin', '--to', 'lines')
        expect(back).toEqual({ code: 0, stdout: readFileSync(join(cwd, 'words.txt'), 'utf8'), stderr: '' })
      }
    }
  })

  test('dump lists the strings of a file', () => {
    run('convert', 'words.txt', '--from', 'lines', '--to', 'tf', '--output', 'dump.bin')
    const { code, stdout } = run('dump', 'dump.bin')
    expect(code).toBe(0)
    expect(stdout).toBe(
      '0  small   3   "one"\n1  small   0   ""\n2  small   6   "žluť"\n3  offset  34  "longer than a struct of TensorFlow"\n',
    )
    const { elements, layout, shape } = JSON.parse(run('dump', 'dump.bin', '--json').stdout)
    expect([layout, shape, elements[2]]).toEqual(['tf', [4], { type: 'small', byteLength: 6, text: 'žluť' }])
    expect(run('dump', 'dump.bin', '--from', 'tf', '--shape', '2,2').stderr).toContain('shape [2, 2]')
  })

  test('dump lists more strings than a call has arguments', () => {
    const count = 130_000
    writeFileSync(join(cwd, 'many.txt'), 'a\n'.repeat(count))
    const made = run('convert', 'many.txt', '--from', 'lines', '--to', 'tflite', '--output', 'many.bin')
    expect(made).toEqual({ code: 0, stdout: '', stderr: '' })
    const { code, stdout, stderr } = run('dump', 'many.bin')
    expect({ code, stderr }).toEqual({ code: 0, stderr: `tflite (le64), shape [${count}]\n` })
    expect(stdout.split('\n').slice(-3)).toEqual(['129998  -  1  "a"', '129999  -  1  "a"', ''])
  })

  test('convert reads and writes JSON', () => {
    writeFileSync(join(cwd, 'in.json'), JSON.stringify(['a\nb', 'c']))
    expect(run('convert', 'in.json', '--from', 'json', '--to', 'tflite', '--output', 'in.bin').code).toBe(0)
    expect(run('convert', 'in.bin', '--from', 'tflite', '--to', 'json').stdout).toBe('["a\\nb","c"]\n')
    expect(run('convert', 'in.bin', '--from', 'tflite', '--to', 'lines')).toMatchObject({ code: 1, stdout: '' })
  })

  test.each([
    [['list', 'words.txt'], 2, 'the action must be dump or convert, got list'],
    [['convert', 'words.txt', '--from', 'lines'], 2, '--to is missing'],
    [['convert', 'words.txt', '--from', 'lines', '--to', 'tf'], 2, '--output is missing'],
    [['dump', 'words.txt'], 2, '--from is missing, because words.txt.json does not exist'],
    [['dump', 'words.txt', '--from', 'tflite'], 1, 'tflite-count'],
    [['dump', 'words.txt', '--from', 'tf'], 2, '--shape is missing'],
    [['dump', 'words.txt', '--from', 'tf', '--shape', '2,x'], 2, '--shape must be sizes separated by commas'],
    [['dump', 'words.txt', '--from', 'json'], 1, 'is not JSON'],
    [['dump', 'nowhere', '--from', 'lines'], 1, 'no such file'],
    [['dump', 'words.txt', '--from', 'utf8'], 2, '--from must be one of'],
  ])('refuses %j', (args, code, text) => {
    const finished = run(...args)
    expect(finished).toMatchObject({ code, stdout: '' })
    expect(finished.stderr).toContain(text)
    expect(finished.stderr).not.toContain('    at ')
  })
})
