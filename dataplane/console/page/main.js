/** Starts the page: its address selects the view, and samples and answers update it. */
import { Answers } from './answers.js'
import { Connection, keepToken, shareToken, takeToken } from './connection.js'
import { h, render } from './element.js'
import { clockTime } from './format.js'
import { History } from './history.js'
import { Palette, placesOf } from './palette.js'
import { state } from './table.js'
import { followTheme } from './theme.js'
import { configuration } from './views/configuration.js'
import { overview } from './views/overview.js'
import { isPlayable, playground } from './views/playground.js'
import { requests } from './views/requests.js'
import { routing } from './views/routing.js'
import { tenants } from './views/tenants.js'
import { usage } from './views/usage.js'

/**
 * By the first part of the address after `#/`: the word of the menu, the title, the view, and whether a sample has it if
 * not all have. A number key opens each.
 */
const VIEWS = {
  overview: ['Overview', 'Overview', overview],
  routing: ['Routing', 'Routes and upstreams', routing],
  tenants: ['Tenants', 'Tenants, limits and budgets', tenants],
  usage: ['Usage', 'Usage', usage],
  requests: ['Requests', 'Requests', requests],
  configuration: ['Configuration', 'Configuration', configuration],
  playground: ['Playground', 'Playground', playground, isPlayable],
}
const CLUSTER = { name: 'cluster', path: '' }

const main = document.getElementById('main')
const history_ = new History()
const answers = new Answers(draw)
const palette = new Palette(document.getElementById('palette'), (text) => {
  const views = names().map((name) => [name, VIEWS[name][1]])
  const { sample } = history_
  return placesOf(text, views, sample, (asked, everyMs) =>
    answers.of(askedPods(sample, asked), asked, everyMs),
  )
})
let isPaused = false
let isLocked = false

takeToken()
followTheme(document.getElementById('theme'))
const connection = new Connection(heard, became)
shareToken(() => connection.restart())
addEventListener('hashchange', () => {
  if (takeToken()) connection.restart()
  draw()
  main.focus({ preventScroll: true })
  scrollTo(0, 0)
})
addEventListener('opened', draw)
addEventListener('keydown', pressed)
draw()

function heard(sample) {
  if (isPaused) return
  history_.add(sample)
  const isSilent = sample.pods.length > 0 && podsOf(sample).length === 0
  became(isSilent ? 'lost' : 'live', isSilent ? 'no gateway answers; trying again' : undefined)
  draw()
}

const WORDS = {
  live: ['good', 'Live'],
  lost: ['bad', 'Connection lost'],
  paused: ['idle', 'Paused'],
  locked: ['warn', 'Locked'],
  faulty: ['bad', 'The page has failed'],
}

function became(kind, why) {
  isLocked = kind === 'locked'
  const [shape, words] = WORDS[isPaused ? 'paused' : kind]
  const of = history_.sample === undefined ? '' : `, numbers of ${clockTime(history_.sample.at)}`
  const text = why === undefined ? words : `${words}: ${why}${of}`
  const status = document.getElementById('connection')
  // A screen reader announces it when it changes, and at no other time.
  if (status.textContent !== text) render(status, text)
  status.className = `state ${shape}`
  if (isLocked) draw()
}

/** The views of the last sample. */
function names() {
  const { sample } = history_
  return Object.keys(VIEWS).filter((name) => VIEWS[name][3]?.(sample) ?? true)
}

/** The view, the rest of the address, the text of its filter and its menus: `#/requests/errors?q=acme&status=429`. */
function addressed() {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?')
  const [name = '', ...rest] = path.split('/').map(decoded)
  const menus = Object.fromEntries(new URLSearchParams(query))
  const text = menus.q ?? ''
  return { current: names().includes(name) ? name : 'overview', path, rest, text, menus }
}

function draw() {
  if (palette.isOpen) palette.draw()
  const { current, path, rest, text, menus } = addressed()
  const [, title, view] = VIEWS[current]
  document.title = `${title} · gw console`
  render(
    document.getElementById('views'),
    names().map((each, index) =>
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
    return render(main, heading, h('p', { class: 'quiet' }, 'Waiting for the first sample …'))
  const chosen = (name, value) => {
    const query = new URLSearchParams(addressed().menus)
    if (value === '') query.delete(name)
    else query.set(name, value)
    history.replaceState(null, '', `#/${path}${query.size === 0 ? '' : `?${query}`}`)
    draw()
  }
  const filtered = (text) => chosen('q', text)
  const ask = (asked, everyMs) => answers.of(askedPods(sample, asked), asked, everyMs)
  // The resource of a gateway in a cluster; the tool reads it, not a pod.
  const cluster = sample.hasCluster ? answers.of([CLUSTER], '/cluster', 5000)?.[0] : undefined
  try {
    render(
      main,
      heading,
      view({
        ...{ sample, history: history_, rates: history_.rates, ask, cluster },
        ...{ rest, text, filtered, menus, chosen },
      }),
    )
  } catch (error) {
    console.error(error)
    render(main, heading, failed(title, error))
  }
}

/** Neither the gateway nor the connection has failed, and the other views have not. */
function failed(title, error) {
  return h(
    'div',
    { class: 'card', role: 'alert' },
    h('p', null, state('bad', `The view ${title} has failed: ${error}`)),
    h(
      'p',
      { class: 'quiet' },
      'This is a fault of the page; the gateway and the connection are not the cause. The other views work, and this one is drawn again with each sample.',
    ),
  )
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** With a shared store each pod has the history of all, and reading it is work: one pod is enough. */
function askedPods(sample, asked) {
  const pods = podsOf(sample)
  if (!asked.startsWith('/history')) return pods
  const shared = pods.find(
    ({ status }) => status.store.backend === 'redis' && status.store.state === 'up',
  )
  return shared === undefined ? pods : [shared]
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
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    return palette.open()
  }
  const isTyping = /^(input|select|textarea)$/.test(event.target.localName ?? '')
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (isTyping) {
    if (event.key === 'Escape') event.target.blur()
    return
  }
  const view = names()[Number(event.key) - 1]
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
