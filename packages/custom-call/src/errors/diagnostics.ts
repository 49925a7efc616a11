/** Matches the start of each reason for which handlers refuse operands. Some handlers write no separator between reasons. */
const REASONS =
  /(?=Wrong (?:argument|result|attribute|buffer|scalar|array|number of)\b|Attribute name mismatch: |Unexpected attribute: |Missing attribute: |Failed to get )/

/**
 * Splits the text of a handler that refused its operands into the reasons; returns none for any other text. Such a text
 * is `[execute] Failed to decode all FFI handler operands (bad operands at: 0)`, `Diagnostics:`, and then the reasons.
 */
export function parseDiagnostics(text: string): readonly string[] {
  const at = text.indexOf('Diagnostics:')
  if (at < 0 || !text.includes('Failed to decode all FFI handler operands')) return []
  return text
    .slice(at + 'Diagnostics:'.length)
    .split('\n')
    .flatMap((line) => line.split(REASONS))
    .map((reason) => reason.trim())
    .filter((reason) => reason !== '')
}
