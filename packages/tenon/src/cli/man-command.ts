import { packageVersion } from '../version.ts'
import { manPage } from './man-page.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData } from './terminal.ts'

/** Makes the command `tenon man`, which prints the manual page. The package contains what it prints. @param loadAll loads all commands */
export const makeManCommand = (loadAll: () => Promise<readonly SubCommand[]>): SubCommand =>
  defineSubCommand({
    meta: { name: 'man', description: 'Print the manual page of this command, for man -l -' },
    args: {},
    async run() {
      printData(manPage(packageVersion(), await loadAll()))
    },
  })
