/** One import of a module: its default, all its names, or some of them. */
const IMPORT =
  /^\s*import\s+(?:(?<namespace>\*\s+as\s+[\w$]+)|(?<names>\{[^}]*\})|(?<standard>[\w$]+))\s+from\s+(?<module>'[^']*'|"[^"]*");?/gm

/**
 * Makes a script of the text of a module, for a worker that runs a text: `new Worker(asScript(text), { eval: true })`. Deno runs the text
 * of a worker as a script, in which imports are a syntax error, so they become calls of `import()`, which come first. An error of the
 * module is an unhandled rejection, which ends the worker as well.
 *
 * @param text with imports at the beginnings of lines, and without exports.
 */
export function asScript(text: string): string {
  const imports: string[] = []
  const body = text.replace(IMPORT, (...found) => {
    const { namespace, names, standard, module } = found.at(-1) as Record<string, string | undefined>
    const binding =
      namespace?.replace(/^\*\s+as\s+/, '') ?? names?.replaceAll(/\s+as\s+/g, ': ') ?? `{ default: ${standard} }`
    imports.push(`const ${binding} = await import(${module});`)
    return ''
  })
  return `(async () => {\n${imports.join('\n')}\n${body}\n})()`
}
