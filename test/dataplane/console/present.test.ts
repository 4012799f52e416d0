/** The present is in every chart of the history, at each hour of the day, for every time that one can choose. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aClock, NOON } from '../../helpers/clock.ts'
import { aHistory } from '../store/history/a-history.ts'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { History } = await import(`${PAGE}history.js`)
const { RANGES } = await import(`${PAGE}ranges.js`)
const { dayTime } = await import(`${PAGE}format.js`)
const { overview } = await import(`${PAGE}views/overview.js`)

const HOUR_MS = 3_600_000
const STEPS_MS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS }
const CHARTS = ['Requests/s', 'Time to first token', 'Tokens/s', 'USD/h']

/** An element of the page, as a value. */
interface Shown {
  readonly tag: string
  readonly children: readonly (Shown | string)[]
}

function* all(shown: unknown, tag: string): Generator<Shown> {
  if (Array.isArray(shown)) for (const one of shown) yield* all(one, tag)
  if (shown === null || typeof shown !== 'object' || !('tag' in shown)) return
  // Every object with a tag is such an element.
  const element = shown as Shown
  if (element.tag === tag) yield element
  yield* all(element.children, tag)
}

function textOf(shown: Shown | string): string {
  return typeof shown === 'string' ? shown : shown.children.map(textOf).join('')
}

/** The newest row of each chart's table, by the chart's title. */
function newest(view: unknown): ReadonlyMap<string, readonly string[]> {
  const rows = [...all(view, 'figure')].map((figure) => {
    const [title] = all(figure, 'strong')
    const [, first] = all(figure, 'tr')
    const cells = first?.children.map(textOf) ?? []
    return [title === undefined ? '' : textOf(title), cells] as const
  })
  return new Map(rows)
}

/** The overview for a chosen time, with the answers of a real history. */
async function overviewOf(
  { ask: asked }: ReturnType<typeof aHistory>,
  rest: readonly string[],
  at: number,
) {
  const answers = new Map<string, unknown>()
  const ask = (path: string) => {
    if (path.startsWith('/history') && !answers.has(path)) answers.set(path, undefined)
    return answers.get(path)
  }
  const sample = { at: new Date(at).toISOString(), pods: [] }
  const history = new History()
  const drawn = () => overview({ sample, history, rates: history.rates, ask, rest })
  drawn()
  for (const path of answers.keys()) {
    const query = Object.fromEntries(new URLSearchParams(path.split('?')[1]))
    answers.set(path, [{ name: 'a', status: 200, body: await asked(query) }])
  }
  return drawn()
}

for (const minute of [0, 59]) {
  test(`every chart ends with the present step at each hour, ${minute} minutes past it`, async () => {
    for (let hour = 0; hour < 24; hour++) {
      const clock = aClock(NOON - 12 * HOUR_MS + hour * HOUR_MS + minute * 60_000)
      const history = aHistory({ in: 'memory' }, clock)
      clock.pass(500)
      history.add()
      for (const [name, { step }] of Object.entries<{ step: string }>(RANGES)) {
        const stepMs = Number.parseInt(step, 10) * (STEPS_MS[step.slice(-1)] ?? 0)
        const time = dayTime(Math.floor(clock.wall() / stepMs) * stepMs)
        for (const before of [[], ['day before'], ['week before']]) {
          const rows = newest(await overviewOf(history, [name, ...before], clock.wall()))
          for (const title of CHARTS) {
            const [at, ...values] = rows.get(title) ?? []
            const where = `${title}, ${hour}:${minute}, ${name} ${before}`
            assert.equal(at, time, where)
            assert.doesNotMatch(values[0] ?? '', /^(|0|–|no data)$/, where)
          }
        }
      }
    }
  })
}

test('the charts link to Grafana with their time if its address is known', () => {
  const history = new History()
  const shown = (fields: object) =>
    JSON.stringify(
      overview({
        sample: { at: new Date(NOON).toISOString(), pods: [], ...fields },
        ...{ history, rates: history.rates, ask: () => undefined, rest: ['48 h'] },
      }),
    )
  const linked = shown({ grafana: 'https://grafana.test/d/gw' })
  assert.match(linked, /"href":"https:\/\/grafana.test\/d\/gw\?from=now-48h&to=now"/)
  assert.doesNotMatch(shown({}), /Grafana/)
})
