import { describeEnd } from '@tenon/build/internal'

import { captureTool } from '../lib/run-tool.ts'
import type { Check } from './check.ts'

/** Makes a check from a tool that runs over the repository. If the tool fails, its output is the problem. */
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
