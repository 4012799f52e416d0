/** The orders of one request: the deed of each party. Texts carry them, so that every service can read its own. */
import type { aRandom } from '../../helpers/random.ts'

/** The faults that every service can have. */
const FAULTS = [
  'silent',
  'reset',
  'half a head',
  'reset in the body',
  'not JSON',
  'of another shape',
  'empty',
  '500',
  '429',
  'too short',
  'silent in the body',
] as const
const MODEL_FAULTS = [
  ...FAULTS,
  'the other form',
  'the other form and a reset',
  'no usage',
  'an error event',
  'broken events',
  'a reset after the end',
  'silent after the end',
  'no content',
  '400',
] as const
const VERDICTS = [...FAULTS, 'block', 'mask', 'late', 'late block'] as const

/** The deeds of each party; the first is right. */
export const DEEDS = {
  chat: ['right', ...MODEL_FAULTS],
  shadow: ['right', ...MODEL_FAULTS],
  vectors: ['right', 'of another length', ...FAULTS],
  store: ['right', ...FAULTS],
  input: ['right', ...VERDICTS],
  output: ['right', ...VERDICTS],
  client: [
    'stays',
    'leaves at once',
    'leaves at the call',
    'leaves at the head',
    'leaves in the body',
    'leaves later',
    'leaves in its own body',
  ],
} as const

export type Party = keyof typeof DEEDS
export type Deed<P extends Party = Party> = (typeof DEEDS)[P][number]

const PARTIES = Object.keys(DEEDS) as Party[]

export interface Order {
  readonly id: number
  readonly route: string
  readonly stream: boolean
  /** The place of each party's deed in its list. */
  readonly deeds: Readonly<Record<Party, number>>
}

export function deed<P extends Party>({ deeds }: Pick<Order, 'deeds'>, party: P): Deed<P> {
  return DEEDS[party][deeds[party]] as Deed<P>
}

/** Two or three parties at most do wrong, so that most requests get as far as their faults. */
export function drawn(
  id: number,
  routes: readonly string[],
  random: ReturnType<typeof aRandom>,
): Order {
  const place = (party: Party) => random(DEEDS[party].length)
  const wrong = new Set([PARTIES[random(PARTIES.length)], PARTIES[random(PARTIES.length)]])
  const deeds = Object.fromEntries(
    PARTIES.map((party) => [
      party,
      wrong.has(party) || (party === 'client' && random(2) === 0) ? place(party) : 0,
    ]),
  ) as Order['deeds']
  return { id, route: routes[random(routes.length)] ?? '', stream: random(3) > 0, deeds }
}

/** The order as a word of a text. */
export function written({ id, deeds }: Order): string {
  return `order-${[id, ...PARTIES.map((party) => deeds[party])].join('-')}.`
}

const ORDER = new RegExp(`order-(\\d+(?:-\\d+){${PARTIES.length}})\\.`)

/** The order in a text; undefined: it has none, such as a probe of the gateway. */
export function readOrder(text: string): Pick<Order, 'id' | 'deeds'> | undefined {
  const numbers = ORDER.exec(text)?.[1]?.split('-').map(Number)
  if (numbers === undefined) return undefined
  const [id = 0, ...places] = numbers
  const deeds = Object.fromEntries(PARTIES.map((party, at) => [party, places[at]]))
  return { id, deeds: deeds as Order['deeds'] }
}

/** For people: the deeds that are not right. */
export function shown(order: Order): string {
  const deeds = PARTIES.filter((party) => order.deeds[party] > 0)
  const parts = deeds.map((party) => `${party}: ${deed(order, party)}`)
  return `${order.id} ${order.route}${order.stream ? ' (stream)' : ''}: ${parts.join(', ')}`
}
