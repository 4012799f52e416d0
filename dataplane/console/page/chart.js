/** Lines over time as inline SVG, with their numbers as a table beside them. */
import { h } from './element.js'
import { clockTime } from './format.js'
import { table } from './table.js'

const WIDTH = 480
const HEIGHT = 120
const LEFT = 46
const BOTTOM = 18
const TOP = 8
/** Points that are further apart are not joined: nothing is known of the time between them. */
const GAP_MS = 3500
const NUMBERS = 10

/** `lines` are `{name, of(point)}`; a value that is undefined makes a gap. `show` writes a number. */
export function chart(title, points, lines, show) {
  const shown = points.slice(-900)
  const first = shown[0]?.at ?? 0
  const last = shown.at(-1)?.at ?? 1
  const values = lines.flatMap((line) => shown.map(line.of)).filter((value) => value !== undefined)
  const top = roundedUp(Math.max(...values, 0))
  const x = (at) => LEFT + ((at - first) / Math.max(last - first, 1)) * (WIDTH - LEFT - 4)
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
  const now = lines.map((line) => `${line.name} ${show(lastOf(shown, line))}`).join(', ')
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
          h('b', null, show(lastOf(shown, line))),
        ),
      ),
    ),
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${now}` },
      [0, 0.5, 1].map((share) => [
        h('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share) }),
        h('text', { x: LEFT - 5, y: y(top * share) + 4, 'text-anchor': 'end' }, show(top * share)),
      ]),
      shown.length > 1 && [
        h('text', { x: LEFT, y: HEIGHT - 4 }, clockTime(first)),
        h('text', { x: WIDTH - 2, y: HEIGHT - 4, 'text-anchor': 'end' }, clockTime(last)),
      ],
      lines.map((line, index) =>
        h('path', { class: `line${index}`, d: pathOf(shown, line.of, x, y) }),
      ),
    ),
    h(
      'details',
      null,
      h('summary', null, 'Numbers'),
      table(
        `${title}, the last ${NUMBERS} seconds`,
        ['Time', ...lines.map(({ name }) => `>${name}`)],
        shown
          .slice(-NUMBERS)
          .map((point) => [clockTime(point.at), ...lines.map((line) => show(line.of(point)))]),
      ),
    ),
  )
}

/** One step: down where a point is far from the one before, or has no value. */
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

/** 1, 2 or 5 times a power of ten, so that the scale is still while the values move a little. */
function roundedUp(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value
}
