/** Lines over time, and stacked columns by hour or day, as inline SVG with their numbers in a table. */
import { h } from './element.js'
import { axisTime, clockTime, dayTime } from './format.js'
import { GAP_MS } from './history.js'
import { table } from './table.js'

const WIDTH = 480
const HEIGHT = 128
const LEFT = 46
const BOTTOM = 18
const TOP = 8
const NUMBERS = 10
/** Steps of the history in the table, which is redrawn each second. */
const STEPS_SHOWN = 48
/** Times of the axis are whole multiples of one of these, at most five of them. */
const STEPS_S = [
  ...[5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200],
  ...[86_400, 172_800, 604_800],
]
const TICKS_MAX = 5
/** Marks that are nearer than this on the axis are one. */
const MARK_WIDTH = 9
/** A time without data that is wide enough for the words. */
const VOID_WORDS_MIN = 60

/**
 * `lines` are `{name, of(point), before}`; a value that is undefined makes a gap. `show` writes a number with its unit.
 * `stepMs`: the distance of points; `marks` are `{at, kind, words}`; `before` are points of an earlier time, moved to this
 * one, for lines that are compared.
 */
export function chart(title, points, lines, show, { stepMs, marks = [], before, words } = {}) {
  const first = points[0]?.at ?? 0
  // A step lasts until the next one begins, and its events are in it.
  const last = Math.max((points.at(-1)?.at ?? 0) + (stepMs ?? 0), first + (stepMs ?? 30_000))
  const gapMs = stepMs === undefined ? GAP_MS : stepMs * 1.5
  // Steps of the earlier time may begin before the first of this one.
  const earlier = before?.filter(({ at }) => at >= first && at <= last)
  const compared = earlier === undefined ? [] : lines.filter((line) => line.isCompared)
  const values = [
    ...lines.flatMap((line) => points.map(line.of)),
    ...compared.flatMap((line) => earlier.map(line.of)),
  ].filter((value) => value !== undefined)
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
      compared.map((line) => h('span', { class: 'legend earlier' }, `${line.name}, ${words}`)),
    ),
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${now}` },
      grid(top, y, show),
      voids(points, stepMs).map(([from, until]) => empty(x(from), x(until))),
      points.length > 1 && ticks(first, last, x),
      compared.map((line) =>
        h('path', { class: 'earlier', d: pathOf(earlier, line.of, x, y, 7_200_000) }),
      ),
      lines.map((line, index) =>
        h('path', { class: `line${index}`, d: pathOf(points, line.of, x, y, gapMs) }),
      ),
      points.length > 1 && markers(marks, first, last, x),
    ),
    numbers(
      stepMs === undefined ? `${title}, the last ${NUMBERS} seconds` : `${title}, the newest first`,
      ['Time', ...lines.map(({ name }) => `>${name}`)],
      (stepMs === undefined
        ? points.slice(-NUMBERS)
        : points.toReversed().slice(0, STEPS_SHOWN)
      ).map((point) => [
        stepMs === undefined ? clockTime(point.at) : dayTime(point.at),
        ...lines.map((line) => (point.isVoid ? 'no data' : show(line.of(point)))),
      ]),
    ),
  )
}

/** The times without data, each from its first step to the end of its last. */
function voids(points, stepMs) {
  const found = []
  for (const { at, isVoid } of points) {
    if (!isVoid) continue
    const last = found.at(-1)
    if (last?.[1] === at) last[1] = at + stepMs
    else found.push([at, at + stepMs])
  }
  return found
}

function empty(from, until) {
  const width = until - from
  return h(
    'g',
    { class: 'void' },
    h('rect', { x: from, y: TOP, width, height: HEIGHT - BOTTOM - TOP }),
    width > VOID_WORDS_MIN &&
      h('text', { x: from + width / 2, y: HEIGHT / 2, 'text-anchor': 'middle' }, 'no data'),
    h('title', null, 'No data: the gateway did not run.'),
  )
}

/** Events at their time; what is near to each other is one mark that lists all. */
function markers(marks, first, last, x) {
  const near = new Map()
  for (const mark of marks) {
    if (mark.at < first || mark.at > last) continue
    const place = Math.round(x(mark.at) / MARK_WIDTH) * MARK_WIDTH
    near.set(place, [...(near.get(place) ?? []), mark])
  }
  return [...near].map(([place, all]) => {
    const kind = ['bad', 'warn', 'idle'].find((each) => all.some((mark) => mark.kind === each))
    const words = all.slice(0, 8).map((mark) => `${dayTime(mark.at)} ${mark.words}`)
    return h(
      'g',
      { class: `mark ${kind}` },
      h('line', { x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }),
      h('path', { class: 'sign', d: `M${place - 4} ${TOP - 7}h8l-4 7z` }),
      h('title', null, [...words, all.length > 8 ? `and ${all.length - 8} more` : ''].join('\n')),
    )
  })
}

/**
 * Columns of several parts. `items` are `[label, values]`, with a value for each of `names`; `lines` are `{name, value}`
 * across all columns.
 */
export function stacked(title, names, items, show, lines = []) {
  const sums = items.map(([, values]) => values.reduce((sum, value) => sum + value, 0))
  const top = roundedUp(Math.max(...sums, ...lines.map(({ value }) => value), 0))
  const width = (WIDTH - LEFT) / Math.max(items.length, 1)
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
  const sum = sums.reduce((all, one) => all + one, 0)
  return h(
    'figure',
    { class: 'chart wide' },
    h(
      'figcaption',
      null,
      h('strong', null, title),
      names.map((name, index) => h('span', { class: `swatch part${index % 8}` }, name)),
      lines.map(({ name, value }) =>
        h('span', { class: 'legend cap' }, name, ' ', h('b', null, show(value))),
      ),
    ),
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${show(sum)}` },
      grid(top, y, show),
      items.map(([label, values], index) =>
        columnOf(label, values, { names, x: LEFT + index * width, width, y, show }),
      ),
      lines.map(({ value }) =>
        h('line', { class: 'cap', x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) }),
      ),
      labels(items, width),
    ),
    numbers(
      title,
      ['Time, UTC', '>All', ...names.map((name) => `>${name}`)],
      items
        .map(([label, values], index) => [
          label,
          show(sums[index]),
          ...values.map((value) => show(value)),
        ])
        .toReversed(),
    ),
  )
}

function columnOf(label, values, { names, x, width, y, show }) {
  let below = 0
  return values.map((value, part) => {
    const from = below
    below += value
    if (value <= 0) return undefined
    return h(
      'rect',
      {
        class: `part${part % 8}`,
        x: (x + width * 0.1).toFixed(1),
        width: (width * 0.8).toFixed(1),
        y: y(below).toFixed(1),
        height: Math.max(0.3, y(from) - y(below)).toFixed(1),
      },
      h('title', null, `${label}, ${names[part]}: ${show(value)}`),
    )
  })
}

function labels(items, width) {
  const ends = [0, Math.floor((items.length - 1) / 2), items.length - 1]
  return [...new Set(ends)].map((index) => {
    const isLast = index === items.length - 1 && index > 0
    return h(
      'text',
      {
        x: isLast ? WIDTH : LEFT + (index + 0.5) * width,
        y: HEIGHT - 4,
        'text-anchor': isLast ? 'end' : index === 0 ? 'start' : 'middle',
      },
      items[index]?.[0],
    )
  })
}

function numbers(caption, heads, rows) {
  return h('details', null, h('summary', null, 'Numbers'), table(caption, heads, rows))
}

function grid(top, y, show) {
  return [0, 0.5, 1].map((share) => [
    h('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share) }),
    h(
      'text',
      { x: LEFT - 5, y: y(top * share) + 4, 'text-anchor': 'end' },
      withoutZeros(show(top * share)),
    ),
  ])
}

/** `$10.00` is `$10`, for which a phone has room. */
function withoutZeros(text) {
  return text.replace(/\.0+(?= |$)/, '').replace(/(\.\d*?)0+(?= |$)/, '$1')
}

function ticks(first, last, x) {
  const steps = STEPS_S.map((step) => step * 1000)
  const step = steps.find((each) => (last - first) / each <= TICKS_MAX) ?? steps.at(-1)
  // Whole hours and days are those of the reader.
  const zoneMs = new Date(first).getTimezoneOffset() * 60_000
  const from = Math.ceil((first - zoneMs) / step) * step + zoneMs
  const count = Math.max(0, Math.floor((last - from) / step) + 1)
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * step
    const anchor = x(at) > WIDTH - 30 ? 'end' : x(at) < LEFT + 24 ? 'start' : 'middle'
    return [
      h('line', { class: 'grid', x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM }),
      h('text', { x: x(at), y: HEIGHT - 4, 'text-anchor': anchor }, axisTime(at, last - first)),
    ]
  })
}

/** One step: pen up after a gap or without a value. */
function pathOf(points, of, x, y, gapMs) {
  const steps = []
  let before
  for (const point of points) {
    const value = of(point)
    if (value !== undefined) {
      const isJoined = before !== undefined && point.at - before <= gapMs
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
