/** Runs a function with `CC` set to a compiler. */
export async function withCompiler<Result>(compiler: string, run: () => Promise<Result>): Promise<Result> {
  const before = process.env['CC']
  process.env['CC'] = compiler
  try {
    return await run()
  } finally {
    if (before === undefined) delete process.env['CC']
    else process.env['CC'] = before
  }
}
