/** Cost over time: today is in the chart at every hour of the day, and parts add up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { usage } = await import(`${PAGE}views/usage.js`)

const HOUR_MS = 3_600_000

/** An element of the page, as a value. */
interface Shown {
  readonly tag: string
  readonly children: readonly (Shown | string)[]
}

function* titlesIn(shown: unknown): Generator<string> {
  if (Array.isArray(shown)) for (const one of shown) yield* titlesIn(one)
  if (shown === null || typeof shown !== 'object' || !('tag' in shown)) return
  // Every object with a tag is such an element.
  const { tag, children } = shown as Shown
  if (tag === 'title') yield children.join('')
  else yield* titlesIn(children)
}

/** The titles of columns of the view at a moment, where each slot of time has cost 1 USD. */
function columnsAt(at: number, span: string): string[] {
  const hour = (ms: number) => new Date(ms).toISOString().slice(0, 13)
  const ask = (path: string) => {
    const query = new URLSearchParams(path.split('?')[1])
    if (!path.startsWith('/usage')) return undefined
    const hours = Number(query.get('hours'))
    const from = hour(at - (hours - 1) * HOUR_MS)
    const [unit = '', part = ''] = query.get('by')?.split(',') ?? []
    const names = new Set(
      Array.from({ length: hours }, (_, index) =>
        hour(at - index * HOUR_MS).slice(0, unit === 'day' ? 10 : 13),
      ),
    )
    const rows = [...names].map((name) => ({
      by: { [unit]: name, ...(part !== '' && { [part]: 'acme' }) },
      cost_nano_usd: 1e9,
    }))
    return [
      { name: 'a', status: 200, body: { from: `${from}:00:00Z`, to: `${hour(at)}:00:00Z`, rows } },
    ]
  }
  const sample = { at: new Date(at).toISOString(), pods: [{ name: 'a' }] }
  return [...titlesIn(usage({ ask, rest: ['tenant', span], sample, text: '' }))]
}

test('cost by day has today, at every hour of the day', () => {
  for (let hour = 0; hour < 24; hour++) {
    for (const minute of [0, 59]) {
      const at = Date.UTC(2026, 10, 22, hour, minute)
      for (const [span, days] of [
        ['7 d', 8],
        ['31 d', 32],
      ] as const) {
        const columns = columnsAt(at, span)
        assert.match(
          columns.at(-1) ?? '',
          /^11-22\b.*\$1\.00$/,
          `${hour}:${minute}, ${span}: ${columns.at(-1)}`,
        )
        assert.ok(
          columns.length === days || columns.length === days - 1,
          `${hour}:${minute}, ${span}: ${columns.length}`,
        )
      }
    }
  }
})

test('cost by hour has the present hour, also at midnight', () => {
  for (let hour = 0; hour < 24; hour++) {
    const columns = columnsAt(Date.UTC(2026, 10, 22, hour, 30), '24 h')
    assert.match(columns.at(-1) ?? '', new RegExp(`^${String(hour).padStart(2, '0')}:00\\b`))
    assert.equal(columns.length, 24)
  }
})
