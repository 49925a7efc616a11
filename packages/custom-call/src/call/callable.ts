/** Gives a function its name and members. They are not enumerable, so that `console.log` prints the function in one line. */
export function callable<Call extends object, Members extends object>(
  call: Call,
  name: string,
  members: Members,
): Call & Members {
  for (const [key, value] of Object.entries({ ...members, name })) Object.defineProperty(call, key, { value })
  return call as Call & Members
}
