/** Tables, states and bars of every view. */
import { h } from './element.js'
import { fullTime, relative } from './format.js'

/** Rows of a table that a phone shows at once, each as a card. */
const ROWS_SHOWN = 10
/** Tables that the reader has opened, by their heads. */
const opened = new Set()

/**
 * A head with a leading `>` is a column of numbers. The first cell of a row is its head. A row is its cells, or
 * `{key, isChosen, cells}`. On a narrow screen a row becomes a card with the heads beside its cells. Roles are
 * explicit, because such a layout removes them from the elements.
 */
export function table(caption, heads, rows, empty = 'Nothing yet.') {
  const id = heads.join()
  const isOpen = opened.has(id)
  const more = rows.length - ROWS_SHOWN
  const columns = heads.map((head) => ({
    name: head.replace(/^>/, ''),
    kind: head.startsWith('>') ? 'number' : undefined,
  }))
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' },
    h(
      'table',
      { role: 'table' },
      h('caption', null, caption),
      h(
        'thead',
        { role: 'rowgroup' },
        h(
          'tr',
          { role: 'row' },
          columns.map(({ name, kind }) =>
            h('th', { scope: 'col', role: 'columnheader', class: kind }, name),
          ),
        ),
      ),
      h(
        'tbody',
        { role: 'rowgroup' },
        rows.length === 0 &&
          h(
            'tr',
            { role: 'row' },
            h('td', { role: 'cell', colspan: heads.length, class: 'empty' }, empty),
          ),
        rows.map((row, index) => rowOf(row, columns, index >= ROWS_SHOWN && !isOpen)),
      ),
    ),
    more > 0 && moreButton(id, isOpen ? 'Show fewer' : `Show ${more} more`),
  )
}

function moreButton(id, words) {
  const turn = () => {
    if (!opened.delete(id)) opened.add(id)
    dispatchEvent(new Event('opened'))
  }
  return h('p', { class: 'more' }, h('button', { type: 'button', onclick: turn }, words))
}

function rowOf(row, columns, isBeyond) {
  const { key, isChosen, cells } = Array.isArray(row) ? { cells: row } : row
  return h(
    'tr',
    { role: 'row', 'data-key': key, class: isChosen ? 'chosen' : isBeyond ? 'beyond' : undefined },
    cells.map((cell, index) => {
      const { name, kind } = columns[index]
      if (index === 0) return h('th', { scope: 'row', role: 'rowheader' }, cell)
      return h('td', { role: 'cell', class: kind, 'data-label': name }, h('div', null, cell ?? '–'))
    }),
  )
}

const SHAPES = { good: '●', warn: '▲', bad: '■', idle: '○' }

/** A word with a shape, because colour alone is not enough. */
export function state(kind, ...words) {
  return h(
    'span',
    { class: `state ${kind}` },
    h('span', { 'aria-hidden': 'true' }, SHAPES[kind]),
    '\u00a0',
    words,
  )
}

/** The answer that the client got. */
export function answerState({ status, code, attempts, running }) {
  if (running) return state('idle', 'running')
  const kind =
    status >= 500 ? 'bad' : status >= 400 ? 'warn' : attempts.length > 1 ? 'warn' : 'good'
  const more = attempts.length > 1 ? ` after ${attempts.length} attempts` : ''
  return state(kind, `${status}${more}${code === undefined ? '' : ` ${code}`}`)
}

/** The requests with this value in one of their names. */
export function requestsWith(text, words = text) {
  return h('a', { href: `#/requests?q=${encodeURIComponent(text)}` }, words)
}

/** How full something is. */
export function bar(share, label, always) {
  const value = Math.min(1, Math.max(0, share || 0))
  const kind = always ?? (value >= 1 ? 'bad' : value >= 0.8 ? 'warn' : 'good')
  return h(
    'svg',
    {
      class: `bar ${kind}`,
      viewBox: '0 0 100 6',
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    h('rect', { class: 'whole', width: 100, height: 6, rx: 3 }),
    h('rect', { class: 'part', width: (value * 100).toFixed(1), height: 6, rx: 3 }),
  )
}

export function moment(iso, now) {
  return h('time', { datetime: iso, title: fullTime(iso) }, relative(iso, now))
}

export function tile(name, value, remark) {
  return h(
    'div',
    { class: 'tile' },
    h('dt', null, name),
    h('dd', null, value),
    remark && h('dd', { class: 'remark' }, remark),
  )
}

export function tiles(...all) {
  return h('dl', { class: 'tiles' }, all)
}

export function section(title, ...content) {
  return h('section', { 'aria-label': title }, h('h2', null, title), content)
}

/** Lists the pods that did not answer, and why. */
export function troubles(faults) {
  if (faults.length === 0) return undefined
  return h(
    'ul',
    { class: 'troubles' },
    faults.map((fault) => h('li', null, state('warn', fault))),
  )
}

/** A list of alternatives, each a link. */
export function choices(label, current, all) {
  return h(
    'nav',
    { class: 'choices', 'aria-label': label },
    all.map(([name, href]) =>
      h('a', { href, 'aria-current': name === current ? 'true' : undefined }, name),
    ),
  )
}

/** A field that narrows a list. */
export function filter(label, text, changed) {
  return h(
    'label',
    { class: 'filter' },
    label,
    ' ',
    h('input', {
      type: 'search',
      maxlength: '100',
      autocomplete: 'off',
      spellcheck: 'false',
      'data-filter': true,
      value: text,
      oninput: (event) => changed(event.target.value),
    }),
  )
}

/** A menu of values; the first is no choice. */
export function menu(label, current, values, changed) {
  const all = [...new Set(current === undefined ? values : [...values, current])].toSorted()
  return h(
    'label',
    { class: 'filter' },
    label,
    ' ',
    h(
      'select',
      { value: current ?? '', onchange: (event) => changed(event.target.value) },
      h('option', { value: '' }, 'all'),
      all.map((value) => h('option', { value, selected: value === current }, value)),
    ),
  )
}
