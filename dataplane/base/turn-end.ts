/**
 * What is written in one turn of the event loop leaves at its end, all of it one after the other. A write between two pieces
 * of work wakes whoever reads it, a processor that has gone to sleep meanwhile as a rule, and that costs more than the write;
 * of many at once only the first has to.
 */
export interface Holding {
  /** Gives what is held to the system. */
  flush(): void
}

/** Then the first no longer wait for the others. */
const HELD_MAX = 64

let held: Holding[] = []
let isAwaited = false

/** `flush` is called once, before anything else is read from any connection. */
export function flushAtTurnEnd(holding: Holding): void {
  held.push(holding)
  if (held.length >= HELD_MAX) flushAll()
  else if (!isAwaited) {
    isAwaited = true
    setImmediate(turnEnds)
  }
}

function turnEnds(): void {
  isAwaited = false
  flushAll()
}

function flushAll(): void {
  const now = held
  held = []
  for (const holding of now) holding.flush()
}
