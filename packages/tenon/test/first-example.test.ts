import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toJavaScript } from '@tenon/config/example-code'
import { afterAll, expect, test } from 'vitest'
import { tensor, writeNpy } from '../src/index.ts'
import { makeCommands, pageBlocks, root, runInDirectory } from './reader.ts'

/** The blocks of the first screen of the README: everything before its first heading of the second level. */
const blocks = pageBlocks.filter(({ page }) => page === 'README.md')
const end = blocks.findIndex(({ code }) => code.includes('pnpm@12'))
const screen = blocks.slice(0, end)

const directory = mkdtempSync(join(tmpdir(), 'tenon-first-example-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('the first screen has a kernel of at most 15 lines, its compile line, its calls, its module and its isolation', () => {
  expect(screen.map(({ language }) => language)).toEqual(['c', 'sh', 'ts', 'console', 'sh', 'ts', 'console', 'ts'])
  expect(screen[0]!.code.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
})

if (process.platform === 'linux') {
  test(
    'the blocks of the first screen run in order in an empty project, and compile without a cast',
    { timeout: 60_000 },
    async () => {
      const run = async (program: string, ...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await runInDirectory(directory, program, args)
        expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' })
        return stdout
      }
      // What `npm install` makes of the package's path.
      writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
      mkdirSync(join(directory, 'node_modules'))
      symlinkSync(join(root, 'packages/tenon'), join(directory, 'node_modules/tenon'))
      symlinkSync(join(root, 'node_modules/@types'), join(directory, 'node_modules/@types'))
      makeCommands(directory)
      writeNpy(join(directory, 'iris.npy'), tensor([[5.1, 3.5, 1.4, 0.2]]))

      const [source, compile, first, shell, types, second] = screen.map(({ code }) => code) as [
        string,
        string,
        string,
        string,
        string,
        string,
      ]
      writeFileSync(join(directory, 'softmax.c'), source)
      await run('sh', '-e', '-c', compile)
      writeFileSync(join(directory, 'first.ts'), first)
      // The last lines show errors, so each runs alone in the documentation's own tests.
      const [calls] = first.split('\nsoftmax(tensor([1n')
      writeFileSync(join(directory, 'first.js'), await toJavaScript(calls!))
      await run(process.execPath, 'first.js')
      const [command] = /(?<=^\$ ).*?(?= \|)/m.exec(shell)!
      expect(await run('sh', '-c', command!)).toBe('[[0.59071636 0.265426   0.09288258 0.05097504]]\n')
      await run('sh', '-e', '-c', types)
      writeFileSync(join(directory, 'second.ts'), second)
      writeFileSync(join(directory, 'second.js'), await toJavaScript(second))
      await run(process.execPath, 'second.js')
      expect(first + second).not.toMatch(/\bas\b/)
      const compiler = join(root, 'node_modules/typescript/bin/tsc')
      const options = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--skipLibCheck',
        'false',
        '--types',
        'node',
        '--lib',
        'ESNext',
      ]
      await run(process.execPath, compiler, ...options, 'first.ts', 'second.ts')
    },
  )
}
