/** Lines over time, and bars by hour or day, as inline SVG with their numbers in a table. */
import { h } from './element.js'
import { clockTime } from './format.js'
import { GAP_MS } from './history.js'
import { table } from './table.js'

const WIDTH = 480
const HEIGHT = 128
const LEFT = 46
const BOTTOM = 18
const TOP = 8
const NUMBERS = 10
/** Times of the axis are whole multiples of one of these, at most five of them. */
const STEPS_S = [5, 15, 30, 60, 120, 300]
const TICKS_MAX = 5

/** `lines` are `{name, of(point)}`; a value that is undefined makes a gap. `show` writes a number with its unit. */
export function chart(title, points, lines, show) {
  const first = points[0]?.at ?? 0
  const last = Math.max(points.at(-1)?.at ?? 0, first + 30_000)
  const values = lines.flatMap((line) => points.map(line.of)).filter((value) => value !== undefined)
  const top = roundedUp(Math.max(...values, 0))
  const x = (at) => LEFT + ((at - first) / (last - first)) * (WIDTH - LEFT - 6)
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
  const now = lines.map((line) => `${line.name} ${show(lastOf(points, line))}`).join(', ')
  return h(
    'figure',
    { class: 'chart' },
    h(
      'figcaption',
      null,
      h('strong', null, title),
      ' ',
      lines.map((line, index) =>
        h(
          'span',
          { class: `legend line${index}` },
          line.name,
          ' ',
          h('b', null, show(lastOf(points, line))),
        ),
      ),
    ),
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${now}` },
      grid(top, y, show),
      points.length > 1 && ticks(first, last, x),
      lines.map((line, index) =>
        h('path', { class: `line${index}`, d: pathOf(points, line.of, x, y) }),
      ),
    ),
    numbers(
      `${title}, the last ${NUMBERS} seconds`,
      ['Time', ...lines.map(({ name }) => `>${name}`)],
      points
        .slice(-NUMBERS)
        .map((point) => [clockTime(point.at), ...lines.map((line) => show(line.of(point)))]),
    ),
  )
}

/** `items` are `[name, value]`, the oldest first. */
export function bars(title, items, show) {
  const top = roundedUp(Math.max(...items.map(([, value]) => value), 0))
  const width = (WIDTH - LEFT) / Math.max(items.length, 1)
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
  const ends = [0, Math.floor((items.length - 1) / 2), items.length - 1]
  const sum = items.reduce((all, [, value]) => all + value, 0)
  return h(
    'figure',
    { class: 'chart wide' },
    h('figcaption', null, h('strong', null, title)),
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: 'img',
        'aria-label': `${title}: ${show(sum)}`,
      },
      grid(top, y, show),
      items.map(([name, value], index) =>
        h(
          'rect',
          {
            class: 'column',
            x: (LEFT + index * width + width * 0.12).toFixed(1),
            width: (width * 0.76).toFixed(1),
            y: y(value).toFixed(1),
            height: (HEIGHT - BOTTOM - y(value)).toFixed(1),
          },
          h('title', null, `${name}: ${show(value)}`),
        ),
      ),
      [...new Set(ends)].map((index) =>
        h(
          'text',
          {
            x: index === items.length - 1 ? WIDTH : LEFT + (index + 0.5) * width,
            y: HEIGHT - 4,
            'text-anchor': index === items.length - 1 ? 'end' : 'middle',
          },
          items[index]?.[0],
        ),
      ),
    ),
    numbers(
      title,
      ['Time, UTC', '>Amount'],
      items.map(([name, value]) => [name, show(value)]),
    ),
  )
}

function numbers(caption, heads, rows) {
  return h('details', null, h('summary', null, 'Numbers'), table(caption, heads, rows))
}

function grid(top, y, show) {
  return [0, 0.5, 1].map((share) => [
    h('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share) }),
    h('text', { x: LEFT - 5, y: y(top * share) + 4, 'text-anchor': 'end' }, show(top * share)),
  ])
}

function ticks(first, last, x) {
  const steps = STEPS_S.map((step) => step * 1000)
  const step = steps.find((each) => (last - first) / each <= TICKS_MAX) ?? steps.at(-1)
  const from = Math.ceil(first / step) * step
  const count = Math.max(0, Math.floor((last - from) / step) + 1)
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * step
    const anchor = x(at) > WIDTH - 30 ? 'end' : x(at) < LEFT + 24 ? 'start' : 'middle'
    return [
      h('line', { class: 'grid', x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM }),
      h('text', { x: x(at), y: HEIGHT - 4, 'text-anchor': anchor }, clockTime(at)),
    ]
  })
}

/** One step: pen up after a gap or without a value. */
function pathOf(points, of, x, y) {
  const steps = []
  let before
  for (const point of points) {
    const value = of(point)
    if (value !== undefined) {
      const isJoined = before !== undefined && point.at - before <= GAP_MS
      steps.push(`${isJoined ? 'L' : 'M'}${x(point.at).toFixed(1)} ${y(value).toFixed(1)}`)
      if (!isJoined) steps.push('h0.1')
    }
    before = value === undefined ? undefined : point.at
  }
  return steps.join('')
}

function lastOf(points, line) {
  const point = points.at(-1)
  return point === undefined ? undefined : line.of(point)
}

/** 1, 2 or 5 times a power of ten, so that the scale does not change with small changes of the values. */
function roundedUp(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value
}
