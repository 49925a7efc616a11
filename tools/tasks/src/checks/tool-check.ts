import { describeEnd } from '@tenon/build'

import { captureTool } from '../lib/run-tool.ts'
import type { Check } from './check.ts'

/** A check that is a tool's run over the repository: what it prints is the problem, unless it ends with 0. */
export function toolCheck(name: string, tool: string, args: readonly string[]): Check {
  return {
    name,
    async run() {
      const result = await captureTool(tool, args)
      if (result.code === 0) return { problems: [] }
      return { problems: [`${tool} ended by ${describeEnd(result)}\n${result.stdout}${result.stderr}`] }
    },
  }
}
