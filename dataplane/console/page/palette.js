/** Ctrl-K or Cmd-K: a field that finds views, tenants, routes, upstreams, keys and requests by name. */
import { bodies } from './answers.js'
import { h, render } from './element.js'

const SHOWN = 12
const LIST = 'palette-places'

export class Palette {
  #dialog
  #placesOf
  #places = []
  #text = ''
  /** The address of the active place, so that it stays while answers arrive. */
  #active

  /** `placesOf(text)` returns `{kind, name, href}`, the best first. */
  constructor(dialog, placesOf) {
    this.#dialog = dialog
    this.#placesOf = placesOf
    dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  }

  open() {
    if (this.#dialog.open) return
    this.#type('')
    this.#dialog.showModal()
  }

  /** Again with newer answers. */
  draw() {
    this.#places = this.#placesOf(this.#text).slice(0, SHOWN)
    const at = this.#at()
    render(
      this.#dialog,
      h('input', {
        role: 'combobox',
        'aria-label': 'Go to a view, tenant, route, upstream, key or request',
        'aria-expanded': 'true',
        'aria-controls': LIST,
        'aria-autocomplete': 'list',
        'aria-activedescendant': `${LIST}-${at}`,
        placeholder: 'View, tenant, route, upstream, key, request id',
        ...{ autofocus: true, autocomplete: 'off', spellcheck: 'false', maxlength: '200' },
        value: this.#text,
        oninput: ({ target }) => this.#type(target.value),
        onkeydown: (event) => this.#press(event),
      }),
      h(
        'ul',
        { role: 'listbox', id: LIST, 'aria-label': 'Places' },
        this.#places.map(({ kind, name, href }, index) =>
          h(
            'li',
            {
              role: 'option',
              id: `${LIST}-${index}`,
              'aria-selected': String(index === at),
              onclick: () => this.#go(href),
            },
            h('span', { class: 'quiet' }, kind),
            ' ',
            name,
          ),
        ),
      ),
    )
  }

  get isOpen() {
    return this.#dialog.open
  }

  #at() {
    const index = this.#places.findIndex(({ href }) => href === this.#active)
    return Math.max(0, index)
  }

  #type(text) {
    this.#text = text
    this.#active = undefined
    this.draw()
  }

  #press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.isComposing || (steps === undefined && event.key !== 'Enter')) return
    event.preventDefault()
    const count = this.#places.length
    if (steps === undefined) return this.#go(this.#places[this.#at()]?.href)
    this.#active = this.#places[(this.#at() + steps + count) % count]?.href
    this.draw()
    document.getElementById(`${LIST}-${this.#at()}`)?.scrollIntoView({ block: 'nearest' })
  }

  #go(href) {
    this.#dialog.close()
    if (href !== undefined) location.hash = href
  }
}

/** Everything with a name; `views` are `[name, title]`, and `ask` is absent before the first sample. */
export function placesOf(text, views, sample, ask) {
  const words = text.trim()
  const all = views.map(([name, title]) => ({ kind: 'View', name: title, href: `#/${name}` }))
  if (words === '') return all
  const found = [...all, ...(sample === undefined ? [] : named(words, sample, ask))]
    .map((place) => ({ ...place, rank: rankOf(place.name, words) }))
    .filter(({ rank }) => rank >= 0)
    .toSorted((one, other) => one.rank - other.rank)
  return [...found.slice(0, SHOWN - 2), ...byText(words)]
}

function named(words, { pods }, ask) {
  const part = encodeURIComponent
  const models = bodies(ask('/models', 10_000))[0]?.models ?? []
  // More tenants than one answer has are found by the typed text.
  const first = bodies(ask('/limits?limit=100', 10_000))[0]
  const more = (first?.total ?? 0) > 100
  const standings = more ? bodies(ask(`/limits?limit=20&name=${part(words)}`, 60_000))[0] : first
  const keys = bodies(ask('/keys?limit=1000', 30_000)).flatMap((body) => body.keys)
  const traces = bodies(ask('/traces?limit=500', 5000)).flatMap((body) => body.traces)
  const upstreams = pods.flatMap(({ status }) => status?.upstreams ?? [])
  return unique([
    ...(standings?.tenants ?? []).map(({ tenant }) => ({
      ...{ kind: 'Tenant', name: tenant, href: `#/tenants/${part(tenant)}` },
    })),
    ...models.map(({ kind, name, route }) => ({
      kind: kind === 'route' ? 'Route' : `Alias of ${route}`,
      ...{ name, href: `#/routing/${part(route)}` },
    })),
    ...upstreams.map(({ name }) => ({
      ...{ kind: 'Upstream', name, href: `#/routing?q=${part(name)}` },
    })),
    ...keys.map(({ id }) => ({ kind: 'Key', name: id, href: `#/requests?q=${part(id)}` })),
    ...traces.map(({ request_id: id }) => ({
      ...{ kind: 'Request', name: id, href: `#/requests/one/${part(id)}` },
    })),
  ])
}

/** A request that is no longer among the last ones is found by its id. */
function byText(words) {
  const text = encodeURIComponent(words)
  const isId = /^[\w.:-]{6,}$/.test(words) && /\d/.test(words)
  return [
    ...(isId ? [{ kind: 'Request', name: words, href: `#/requests/one/${text}` }] : []),
    { kind: 'Requests with', name: words, href: `#/requests?q=${text}` },
  ]
}

/** The same name first, then those that begin with the text, then those that have it. */
function rankOf(name, words) {
  const at = name.toLowerCase().indexOf(words.toLowerCase())
  return at === 0 && name.length === words.length ? 0 : at > 0 ? 2 : at === 0 ? 1 : -1
}

function unique(places) {
  return [...new Map(places.map((place) => [`${place.kind} ${place.href}`, place])).values()]
}
