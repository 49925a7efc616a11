import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { expect, it } from 'vitest'

const cwd = fileURLToPath(new URL('..', import.meta.url))

it('built classes have the names under which they are exported, which messages and stacks show', async () => {
  const { stdout, stderr } = await runScript(
    `for (const name of ['@tenon/core', '@tenon/scope', '@tenon/tstring']) {
      const classes = Object.entries(await import(name)).filter(([, value]) => /^class\\b/.test(String(value)))
      if (classes.length === 0) throw new Error(name + ' has no classes')
      for (const [exported, value] of classes) if (value.name !== exported) console.log(name, exported, value.name)
    }
    const { StringTensor } = await import('@tenon/tstring')
    console.log(StringTensor.from(['a']).segment.constructor.name, StringTensor.from(['a']).constructor.name)`,
    { cwd },
  )
  expect({ stdout, stderr }).toEqual({ stdout: 'Segment StringTensor\n', stderr: '' })
})
