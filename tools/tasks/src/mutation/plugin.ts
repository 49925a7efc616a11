/** What Stryker loads: the runner of the tests, the list of all mutants of a run, and the rule for code that has no mutants. */
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import type { MutationTestingPlanReadyEvent } from '@stryker-mutator/api/report'

import { isErrorText } from './left-code.ts'
import { CACHE, MutantTestRunner } from './mutant-test-runner.ts'
import { isOfLoading } from './results.ts'

/** Writes how many mutants the files of a run have, with those that it does not reach in its time. */
function writePlan({ mutantPlans }: MutationTestingPlanReadyEvent): void {
  const counts: Record<string, number> = {}
  for (const { mutant } of mutantPlans) {
    if (mutant.status === 'Ignored' && !isOfLoading(mutant.statusReason)) continue
    const file = relative(process.cwd(), mutant.fileName)
    counts[file] = (counts[file] ?? 0) + 1
  }
  writeFileSync(join(process.env[CACHE]!, 'plan.json'), JSON.stringify(counts))
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, 'one-process', MutantTestRunner),
  declareValuePlugin(PluginKind.Reporter, 'plan', { onMutationTestingPlanReady: writePlan }),
  declareValuePlugin(PluginKind.Ignore, 'error-texts', {
    shouldIgnore: (path) => (isErrorText(path) ? 'the text of an error' : undefined),
  }),
]
