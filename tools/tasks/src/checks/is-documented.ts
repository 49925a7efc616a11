/** Whether a file exports a name with a documentation comment before it. */
export function isDocumented(text: string, name: string): boolean {
  const declaration = new RegExp(
    `^export (abstract |declare |async )*(function\\*?|class|interface|type|const|let) ${name}\\b`,
    'm',
  )
  const at = declaration.exec(text)?.index
  return at !== undefined && text.slice(0, at).trimEnd().endsWith('*/')
}
