import { eventually } from '@tenon/config/eventually'
import { describe, expect, test } from 'vitest'
import { makeFolder, makeToken, writeAccess } from './access-fixture.ts'
import { double } from './models.ts'
import { Served } from './support.ts'

describe('names in an access file that nothing has', () => {
  test('are warnings in the log at the start and when the file is read again, and no error', async () => {
    const lines: string[] = []
    const log = { format: 'json', write: (line: string) => void lines.push(line) } as const
    const warnings = (): unknown[] =>
      lines.map((line) => JSON.parse(line) as { level: string }).filter(({ level }) => level === 'warn')
    const { entry } = makeToken('ci')
    const rule = { callers: ['token:ci', 'token:*', 'certificate:web'], infer: ['double', '*'] }
    const write = (permissions: readonly object[], folder?: string): string =>
      writeAccess({ tokens: [entry], permissions }, folder)
    const folder = makeFolder()
    const path = write([rule, { callers: ['token:cii'], infer: ['doubel', 'double'], load: ['later'] }], folder)
    await Served.start([double], { access: path, log })
    expect(warnings()).toMatchObject([
      { message: 'the access file names models that the server does not have', path, models: ['doubel', 'later'] },
      { message: 'the access file has permissions for tokens that it does not have', path, callers: ['token:cii'] },
    ])
    write([rule], folder)
    const readAgain = (count: number) =>
      eventually(() => expect(lines.filter((line) => line.includes('were read again'))).toHaveLength(count))
    await readAgain(1)
    expect(warnings()).toHaveLength(2)
    write([{ ...rule, load: ['absent'] }], folder)
    await readAgain(2)
    expect(warnings().slice(2)).toMatchObject([{ models: ['absent'] }])
  })

  test('models of a repository that are not loaded are known', async () => {
    const lines: string[] = []
    const log = { format: 'json', write: (line: string) => void lines.push(line) } as const
    const repository = {
      names: () => ['later'],
      load: () => Promise.reject(new Error('not now')),
    }
    const access = writeAccess({ permissions: [{ callers: ['*'], infer: ['later', 'double', 'never'] }] })
    await Served.start([double], { access, log, repository, modelControl: 'explicit' })
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ level: 'warn', models: ['never'] }])
  })
})
