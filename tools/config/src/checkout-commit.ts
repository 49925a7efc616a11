import { execFileSync } from 'node:child_process'

/**
 * Names the commit of a checkout for a report: `b531fea4c`, or `b531fea4c+` if files differ from it.
 *
 * @throws the error of git if the directory is not in a checkout.
 */
export function checkoutCommit(directory: string): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: directory, encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  return `${git('rev-parse', '--short=9', 'HEAD')}${isChanged ? '+' : ''}`
}
