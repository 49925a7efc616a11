/** The rules of untyped custom calls are numbered L1 to L37, those of typed ones R1 to R18. Each has a test that names it, but for these. */
export const LAST_RULES: { readonly L: number; readonly R: number } = { L: 37, R: 18 }

/** Rules that tell what other programs do, with the reason why nothing here can be tested. */
export const notApplicable: Readonly<Record<string, string>> = {
  L21: 'the registration macro of XLA takes the text of a name without its namespace, so that two functions of one name collide silently; it reaches a C++ class inside XLA, which nothing outside has. Names are strings here, and a name that is taken is an error (L18)',
  R10: "assertions of XLA's C++ header end the process of a handler that was built without NDEBUG and reads a buffer as another type: that happens inside the handler, before anything of the runtime is reached",
}
