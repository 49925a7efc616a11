/** Builtin types of the Itanium C++ ABI by their letters (section 5.1.5.2). */
export const builtinTypes: Readonly<Record<string, string>> = {
  v: 'void',
  w: 'wchar_t',
  b: 'bool',
  c: 'char',
  a: 'signed char',
  h: 'unsigned char',
  s: 'short',
  t: 'unsigned short',
  i: 'int',
  j: 'unsigned int',
  l: 'long',
  m: 'unsigned long',
  x: 'long long',
  y: 'unsigned long long',
  n: '__int128',
  o: 'unsigned __int128',
  f: 'float',
  d: 'double',
  e: 'long double',
  g: '__float128',
  z: '...',
}

/** Builtin types whose letter follows `D`. */
export const extendedTypes: Readonly<Record<string, string>> = {
  a: 'auto',
  c: 'decltype(auto)',
  d: 'decimal64',
  e: 'decimal128',
  f: 'decimal32',
  h: 'half',
  i: 'char32_t',
  n: 'decltype(nullptr)',
  s: 'char16_t',
  u: 'char8_t',
}

/** The letters behind numbers of builtin types. Numbers of other types have the type before them, in parentheses. */
export const literalSuffixes: Readonly<Record<string, string>> = {
  int: '',
  'unsigned int': 'u',
  long: 'l',
  'unsigned long': 'ul',
  'long long': 'll',
  'unsigned long long': 'ull',
}

const characters = '<char, std::char_traits<char>'

/** Abbreviations of names of the standard library: the name, that of its constructors, and the name that is before the name of a constructor. */
export const standardNames: Readonly<Record<string, readonly [name: string, base: string, scope: string]>> = {
  a: ['std::allocator', 'allocator', 'std::allocator'],
  b: ['std::basic_string', 'basic_string', 'std::basic_string'],
  s: ['std::string', 'basic_string', `std::basic_string${characters}, std::allocator<char> >`],
  i: ['std::istream', 'basic_istream', `std::basic_istream${characters} >`],
  o: ['std::ostream', 'basic_ostream', `std::basic_ostream${characters} >`],
  d: ['std::iostream', 'basic_iostream', `std::basic_iostream${characters} >`],
}

/** Operators by their codes: the text behind `operator`, and the number of operands in expressions. */
export const operators: Readonly<Record<string, readonly [text: string, operands: 0 | 1 | 2 | 3]>> = {
  aN: ['&=', 2],
  aS: ['=', 2],
  aa: ['&&', 2],
  ad: ['&', 1],
  an: ['&', 2],
  aw: [' co_await', 0],
  cl: ['()', 0],
  cm: [',', 2],
  co: ['~', 1],
  dV: ['/=', 2],
  da: [' delete[]', 0],
  de: ['*', 1],
  dl: [' delete', 0],
  dv: ['/', 2],
  eO: ['^=', 2],
  eo: ['^', 2],
  eq: ['==', 2],
  ge: ['>=', 2],
  gt: ['>', 2],
  ix: ['[]', 0],
  lS: ['<<=', 2],
  le: ['<=', 2],
  ls: ['<<', 2],
  lt: ['<', 2],
  mI: ['-=', 2],
  mL: ['*=', 2],
  mi: ['-', 2],
  ml: ['*', 2],
  mm: ['--', 0],
  na: [' new[]', 0],
  ne: ['!=', 2],
  ng: ['-', 1],
  nt: ['!', 1],
  nw: [' new', 0],
  oR: ['|=', 2],
  oo: ['||', 2],
  or: ['|', 2],
  pL: ['+=', 2],
  pl: ['+', 2],
  pm: ['->*', 2],
  pp: ['++', 0],
  ps: ['+', 1],
  pt: ['->', 0],
  qu: ['?', 3],
  rM: ['%=', 2],
  rS: ['>>=', 2],
  rm: ['%', 2],
  rs: ['>>', 2],
  ss: ['<=>', 2],
}

/** Special names that begin with `T` or `G`, whose text is before a type or a name. */
export const specialTypes: Readonly<Record<string, string>> = {
  TV: 'vtable for ',
  TT: 'VTT for ',
  TI: 'typeinfo for ',
  TS: 'typeinfo name for ',
}
export const specialNames: Readonly<Record<string, string>> = {
  GV: 'guard variable for ',
  TH: 'TLS init function for ',
  TW: 'TLS wrapper function for ',
}
