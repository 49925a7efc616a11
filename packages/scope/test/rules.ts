/** The last of the rules of scoped memory, S1 to S63. Each has a test that names it, except for those below. */
export const LAST_RULE = 63

/** Rules that do not apply to JavaScript, with the reason. */
export const notApplicable: Readonly<Record<string, string>> = {
  S10: 'no other thread can close a scope between an allocation and its registration: both happen in one turn',
  S61: "a thread handshake stops threads inside an access; JavaScript's threads share no objects, and attachments are counted (S63)",
  S62: 'the cost of that handshake',
}
