/** Starts the page: its address says which view is shown, samples and answers draw it anew. */
import { Answers } from './answers.js'
import { Connection, keepToken, takeToken } from './connection.js'
import { h, render } from './element.js'
import { History } from './history.js'
import { followTheme } from './theme.js'
import { configuration } from './views/configuration.js'
import { overview } from './views/overview.js'
import { requests } from './views/requests.js'
import { routing } from './views/routing.js'
import { tenants } from './views/tenants.js'
import { usage } from './views/usage.js'

/** By the first part of the address behind `#/`; a number key opens each. */
const VIEWS = {
  overview: ['Overview', overview],
  routing: ['Routes and upstreams', routing],
  tenants: ['Tenants', tenants],
  usage: ['Usage', usage],
  requests: ['Requests', requests],
  configuration: ['Configuration', configuration],
}
const NAMES = Object.keys(VIEWS)

const main = document.getElementById('main')
const history_ = new History()
const answers = new Answers(draw)
const filters = new Map()
let isPaused = false
let isLocked = false

takeToken()
followTheme(document.getElementById('theme'))
const connection = new Connection(heard, became)
addEventListener('hashchange', () => {
  draw()
  main.focus()
})
addEventListener('keydown', pressed)
draw()

function heard(sample) {
  if (isPaused) return
  became('live')
  history_.add(sample)
  draw()
}

const WORDS = {
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost'],
  paused: ['idle', 'Paused'],
  locked: ['warn', 'Locked'],
}

function became(kind, why) {
  isLocked = kind === 'locked'
  const [shape, words] = WORDS[isPaused ? 'paused' : kind]
  const text = why === undefined ? words : `${words}: ${why}; trying again`
  const status = document.getElementById('connection')
  // It is read aloud when it changes, and at no other time.
  if (status.textContent !== text) render(status, text)
  status.className = `state ${shape}`
  if (isLocked) draw()
}

function draw() {
  const [name = '', ...rest] = location.hash.replace(/^#\//, '').split('/').map(decoded)
  const current = Object.hasOwn(VIEWS, name) ? name : 'overview'
  const [title, view] = VIEWS[current]
  document.title = `${title} · gw console`
  render(
    document.getElementById('views'),
    NAMES.map((each, index) =>
      h(
        'a',
        {
          href: `#/${each}`,
          'aria-current': each === current ? 'page' : undefined,
          'aria-keyshortcuts': index + 1,
        },
        VIEWS[each][0],
      ),
    ),
  )
  const heading = h('h1', null, title)
  if (isLocked) return render(main, heading, lock())
  const { sample } = history_
  if (sample === undefined)
    return render(main, heading, h('p', null, 'Waiting for the first sample …'))
  const text = filters.get(current) ?? ''
  const filtered = (changed) => {
    filters.set(current, changed)
    draw()
  }
  const ask = (path, everyMs) => answers.of(podsOf(sample), path, everyMs)
  render(
    main,
    heading,
    view({ sample, history: history_, rates: history_.rates, ask, rest, text, filtered }),
  )
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function podsOf(sample) {
  return sample.pods.filter(({ status }) => status !== undefined)
}

function lock() {
  const open = (event) => {
    event.preventDefault()
    keepToken(new FormData(event.target).get('token').trim())
    isLocked = false
    connection.restart()
    draw()
  }
  return h(
    'form',
    { class: 'lock', onsubmit: open },
    h(
      'p',
      null,
      'This gateway gives its data to the holder of its admin token. Start ',
      h('code', null, 'gw console'),
      ', which knows the token, or paste it here; it is kept in this tab alone.',
    ),
    h(
      'label',
      null,
      'Token ',
      h('input', { name: 'token', type: 'password', required: true, autocomplete: 'off' }),
    ),
    h('button', null, 'Open'),
  )
}

function pressed(event) {
  const isTyping = /^(input|select|textarea)$/.test(event.target.localName ?? '')
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (isTyping) {
    if (event.key === 'Escape') event.target.blur()
    return
  }
  const view = NAMES[Number(event.key) - 1]
  if (view !== undefined) location.hash = `#/${view}`
  if (event.key === 'p') {
    isPaused = !isPaused
    became(isPaused ? 'paused' : 'live')
  }
  if (event.key !== '/') return
  const field = document.querySelector('[data-filter]')
  if (field === null) return
  event.preventDefault()
  field.focus()
}
