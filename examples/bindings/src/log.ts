/** Prints the last commits of a repository with the days of UTC: `node src/log.ts REPOSITORY COUNT`. */
import { NativeScope } from 'tenon/scope'
import { textOf } from 'tenon/scope/bind'
import * as git from '../dist/git2/index.js'

const [path = '.', count = '10'] = process.argv.slice(2)

git.git_libgit2_init()
const scope = NativeScope.ofConfined()
const repository = git.git_repository_open(path)
const walk = git.git_revwalk_new(repository)
git.git_revwalk_push_head(walk)
for (let i = 0; i < Number(count); i++) {
  const id = git.git_revwalk_next(scope, walk)
  if (id === null) break
  const commit = git.git_commit_lookup(repository, id)
  const author = git.git_signature.of(git.git_commit_author(commit))
  const day = new Date(git.git_commit_time(commit) * 1000).toISOString().slice(0, 10)
  console.log(
    `${git.git_oid_tostr_s(id)?.slice(0, 8)} ${day} ${textOf(author.name)}: ${git.git_commit_summary(commit)}`,
  )
  commit.close()
}
repository.close()
scope.close()
