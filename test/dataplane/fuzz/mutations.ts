/** Byte sequences for fuzzing: valid samples, changed at random from a seed, so that each can be repeated. */

/** How many sequences a run tries. `GW_FUZZ_SEED=17` tries one; with `GW_LONG` a run goes on for ten minutes. */
const SEQUENCES = 20_000
const LONG_MS = 600_000
const CHANGES_MAX = 4

/** Pieces with a meaning for an HTTP/1.1 parser. */
const PIECES: readonly string[] = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '\0',
  '\x7f',
  '\xff',
  '0',
  '1',
  'f',
  '-1',
  'A',
  '/',
  '"',
  'HTTP/1.1',
  'HTTP/1.0',
  'Host: a\r\n',
  'Connection: close\r\n',
  'Connection: Upgrade\r\nUpgrade: h2c\r\n',
  'Content-Length: 3\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Expect: 100-continue\r\n',
  'Trailer: a\r\n',
  'a: b\r\n',
  ' folded\r\n',
  '0\r\n\r\n',
  '3\r\nabc\r\n',
]

/** A small generator of numbers below 1 (mulberry32): the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** One of the samples with one to four changes: a piece put in, a few bytes taken out, one byte or its case changed. */
export function mutated(samples: readonly string[], random: () => number): string {
  const below = (count: number) => Math.floor(random() * count)
  let text = samples[below(samples.length)] ?? ''
  for (let changes = 1 + below(CHANGES_MAX); changes > 0; changes--) {
    const at = below(2) === 0 ? below(text.length + 1) : lineStart(text, below(text.length + 1))
    text = text.slice(0, at) + change(text, at, below) + text.slice(at + below(3))
  }
  return text
}

/** The start of the line at a position. */
function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at) + 1
}

function change(text: string, at: number, below: (count: number) => number): string {
  switch (below(4)) {
    case 0:
      return PIECES[below(PIECES.length)] ?? ''
    case 1:
      return String.fromCharCode(below(256))
    case 2:
      return text.slice(at, at + below(40))
    default:
      return ''
  }
}

/** Seeds to try, in order. A run with a finding prints the seed to try again. */
export function* seeds(now: () => number = () => performance.now()): Generator<number> {
  const { GW_FUZZ_SEED: chosen, GW_LONG: isLong } = process.env
  if (chosen !== undefined) {
    yield Number(chosen)
    return
  }
  const endsAt = now() + LONG_MS
  for (let seed = 1; isLong ? now() < endsAt : seed <= SEQUENCES; seed++) yield seed
}
