/** The value of a constant. Integers are exact, texts are UTF-8, and a pointer is an address that is a value, such as `(void *)-1`. */
export type Constant =
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'real'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'pointer'; readonly value: bigint }
