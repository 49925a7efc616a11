/** The last rules of untyped custom calls (L1 to L37) and of typed ones (R1 to R18). Each has a test that names it. */
export const LAST_RULES: { readonly L: number; readonly R: number } = { L: 37, R: 18 }

/** The rules without a test, which describe other programs, with the reason. */
export const notApplicable: Readonly<Record<string, string>> = {
  L21: 'the registration macro of XLA takes the text of a name without its namespace, so that two functions of one name collide silently; it reaches a C++ class inside XLA, which does not exist here. Names are strings here, and a name that is taken is an error (L18)',
  R10: "assertions of XLA's C++ header end the process of a handler that was built without NDEBUG and reads a buffer as another type; this happens inside the handler, before the runtime is reached",
}
