/** A live map: which tenants call which routes, and which upstreams serve them, with rates, breakers and queues. */
import { h } from '../element.js'
import { number, percent } from '../format.js'

const SHOWN = 8
/** On a phone the words have two lines below the name. */
const WIDE = { column: 210, gap: 65, row: 40, box: 32, nameMax: 24, isNarrow: false }
const NARROW = { column: 112, gap: 18, row: 58, box: 48, nameMax: 14, isNarrow: true }

/**
 * `routes` are `{name, upstreams}` with eligible candidates; `upstreams` as gathered of all pods; `traces` are the last
 * requests, which tell who calls what.
 */
export function map({ routes, upstreams, traces, rates }) {
  const size = matchMedia('(max-width: 700px)').matches ? NARROW : WIDE
  const calls = callsOf(traces)
  const callers = [...calls.keys()].slice(0, SHOWN)
  const shownRoutes = routes.slice(0, SHOWN * 2)
  const used = upstreams.filter(({ name }) =>
    shownRoutes.some((route) => route.upstreams.some((one) => one.name === name)),
  )
  const columns = [
    callers.map((name) => ({
      name,
      words: [`${number(rates.tenants.get(name)?.requests ?? 0)} /s`],
      kind: 'idle',
    })),
    shownRoutes.map((route) => ({
      name: route.name,
      words: routeWords(rates.routes.get(route.name)),
      kind: 'idle',
    })),
    used.map((upstream) => ({
      name: upstream.name,
      ...upstreamWords(upstream, rates.upstreams.get(upstream.name)),
    })),
  ]
  const rows = Math.max(1, ...columns.map((column) => column.length))
  const place = placesOf(columns, rows, size)
  const links = [
    ...callers.flatMap((name) =>
      [...calls.get(name)].map(([route, count]) =>
        link(place(0, name), place(1, route), widthOf(count), 'good'),
      ),
    ),
    ...shownRoutes.flatMap((route) =>
      route.upstreams.map(({ name, eligible }, index) =>
        link(
          place(1, route.name),
          place(2, name),
          index === 0 ? 2.5 : 1.2,
          eligible ? 'good' : 'bad',
        ),
      ),
    ),
  ]
  const titles = [
    titleOf('Tenants', callers.length, calls.size),
    titleOf('Routes', shownRoutes.length, routes.length),
    'Upstreams',
  ]
  const counts = `${callers.length} tenants, ${shownRoutes.length} routes, ${used.length} upstreams`
  return h(
    'div',
    { class: 'scroll map', role: 'region', 'aria-label': 'Map of routes', tabindex: '0' },
    h(
      'svg',
      {
        viewBox: `0 0 ${3 * size.column + 2 * size.gap} ${rows * size.row + 26}`,
        role: 'img',
        'aria-label': `Map: ${counts}`,
      },
      titles.map((title, index) =>
        h('text', { x: index * (size.column + size.gap), y: 12, class: 'head' }, title),
      ),
      links,
      columns.map((column, index) => column.map((one) => box(one, place(index, one.name), size))),
    ),
  )
}

/** By tenant: how many of the last requests went to each route. The busiest first. */
function callsOf(traces) {
  const calls = new Map()
  for (const { tenant, route } of traces) {
    if (tenant === undefined || route === 'none') continue
    const routes = calls.get(tenant) ?? new Map()
    calls.set(tenant, routes.set(route, (routes.get(route) ?? 0) + 1))
  }
  const all = (routes) => [...routes.values()].reduce((sum, count) => sum + count, 0)
  return new Map([...calls].toSorted(([, one], [, other]) => all(other) - all(one)))
}

function titleOf(title, shown, all) {
  return shown < all ? `${title}, ${shown} of ${all}` : title
}

function placesOf(columns, rows, { column: width, gap, row: height }) {
  const places = columns.map(
    (column, index) =>
      new Map(
        column.map(({ name }, row) => [
          name,
          {
            x: index * (width + gap),
            width,
            gap,
            y: 22 + (row + 0.5 + (rows - column.length) / 2) * height,
          },
        ]),
      ),
  )
  return (column, name) => places[column].get(name)
}

function link(from, to, width, kind) {
  if (from === undefined || to === undefined) return undefined
  const x = from.x + from.width
  const half = from.gap / 2
  return h('path', {
    class: `link ${kind}`,
    'stroke-width': width,
    d: `M${x} ${from.y}C${x + half} ${from.y} ${to.x - half} ${to.y} ${to.x} ${to.y}`,
  })
}

function widthOf(count) {
  return Math.min(6, 1 + Math.log2(1 + count) / 2).toFixed(1)
}

function box({ name, words, kind }, { x, y }, { column, box: height, nameMax, isNarrow }) {
  const cut = name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name
  const [first, ...rest] = words
  const lines = isNarrow ? [first, rest.join(', ')] : [words.join(', ')]
  const top = y - height / 2
  return h(
    'g',
    { class: `box ${kind}` },
    h('rect', { x: x + 0.5, y: top, width: column - 1, height, rx: 6 }),
    h('text', { x: x + 8, y: top + 14 }, cut),
    lines.map((line, index) =>
      h('text', { x: x + 8, y: top + 27 + index * 13, class: 'words' }, line),
    ),
    h('title', null, `${name}: ${words.join(', ')}`),
  )
}

function routeWords(rate) {
  const errors = rate && rate.requests > 0 && `${percent(rate.errors / rate.requests)} errors`
  return [
    [`${number(rate?.requests ?? 0)} /s`, errors].filter(Boolean).join(', '),
    `${number(rate?.inFlight ?? 0)} running`,
  ]
}

function upstreamWords({ pods }, rate) {
  const open = pods.find(({ breaker }) => breaker !== 'closed')
  const queues = pods.map(({ queue }) => queue).filter((queue) => typeof queue === 'number')
  const inFlight = pods.reduce((sum, { in_flight }) => sum + in_flight, 0)
  const isSick = pods.some(({ health }) => health === 'unhealthy')
  const state = open ? `■ breaker ${open.breaker}` : isSick ? '■ unhealthy' : undefined
  return {
    kind: open?.breaker === 'open' || isSick ? 'bad' : open ? 'warn' : 'good',
    words: [
      state ?? `● ${number(rate?.requests ?? 0)} /s`,
      state && `${number(rate?.requests ?? 0)} /s`,
      `${number(inFlight)} running`,
      queues.length > 0 && `queue ${number(Math.max(...queues))}`,
    ].filter(Boolean),
  }
}
