/**
 * Runs Stryker in the folder of a package, with the options of the first argument. It is a process of its own because Stryker works in the current
 * directory, and saves what it has measured and restores the sources when a signal ends it.
 */
import { Stryker } from '@stryker-mutator/core'

await new Stryker(JSON.parse(process.argv[2]!) as object).runMutationTest()
