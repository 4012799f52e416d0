/** Colours for people at a terminal. A colour only repeats the meaning of a word. */

const COLOURS = { red: 31, green: 32, yellow: 33, grey: 90, bold: 1 } as const
export type Colour = keyof typeof COLOURS

/** FORCE_COLOR wins over NO_COLOR, as in Node, and `--no-color` over both. */
export function isColourful(stream: NodeJS.WriteStream): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  if (process.argv.includes('--no-color')) return false
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && !NO_COLOR && TERM !== 'dumb'
}

export function paint(text: string, colour: Colour | undefined, stream: NodeJS.WriteStream) {
  if (colour === undefined || !isColourful(stream)) return text
  return `\u001b[${COLOURS[colour]}m${text}\u001b[0m`
}

/** A text of a table with its colour. */
export interface Painted {
  readonly text: string
  readonly colour: Colour | undefined
}

const STATES: Readonly<Record<string, Colour>> = {
  yes: 'green',
  ok: 'green',
  answers: 'green',
  serving: 'green',
  success: 'green',
  healthy: 'green',
  ready: 'green',
  closed: 'green',
  active: 'green',
  programmed: 'green',
  pending: 'yellow',
  draining: 'yellow',
  half_open: 'yellow',
  expired: 'yellow',
  rotated: 'yellow',
  'not probed': 'grey',
  no: 'red',
  fails: 'red',
  failed: 'red',
  failure: 'red',
  unhealthy: 'red',
  open: 'red',
  rejected: 'red',
  revoked: 'red',
}

/** A word for a state: green is good, yellow is temporary or planned, red needs attention. */
export function state(text: string): Painted {
  return { text, colour: STATES[text.toLowerCase()] }
}

export function yesOrNo(is: boolean): Painted {
  return state(is ? 'yes' : 'no')
}

/** A condition of a resource; only for Degraded is `False` the good value. */
export function conditionState(type: string, status: string): Painted {
  if (status !== 'True' && status !== 'False') return { text: status, colour: 'yellow' }
  const isGood = (status === 'True') !== (type === 'Degraded')
  return { text: status, colour: isGood ? 'green' : 'red' }
}

/** An HTTP status: yellow if the client can correct the request. */
export function statusColour(status: number): Colour {
  if (status >= 500 || status === 0) return 'red'
  return status >= 400 ? 'yellow' : 'green'
}
