/**
 * The stream of samples: opened again when it ends, closed while the page is hidden, lost after three silent seconds.
 */
/**
 * A sample comes each second. Together with the interval of the check it takes three seconds until the page shows it.
 */
const SILENT_MS = 2700
const LOOK_MS = 250
const AGAIN_MS = 2000
const TOKEN = 'gw-console-token'

/**
 * A token comes after `#token=`, which no server sees, and is removed from the address at once. A view may follow it.
 */
export function takeToken() {
  const [, given, view = '/overview'] = /^#token=([\w-]+)(\/.*)?$/.exec(location.hash) ?? []
  if (given === undefined) return false
  keepToken(given)
  history.replaceState(null, '', `${location.pathname}#${view}`)
  return true
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token)
}

/** A link that opens in a new tab asks the other tabs of this page for the token; `found` is called when one has it. */
export function shareToken(found) {
  const tabs = new BroadcastChannel(TOKEN)
  tabs.addEventListener('message', ({ data }) => {
    const token = sessionStorage.getItem(TOKEN)
    if (data === 'asks') {
      if (token !== null) tabs.postMessage({ token })
    } else if (token === null) {
      keepToken(data.token)
      found()
    }
  })
  if (sessionStorage.getItem(TOKEN) === null) tabs.postMessage('asks')
}

export function headers() {
  const token = sessionStorage.getItem(TOKEN)
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/** `heard` gets samples; `became` gets `live`, `lost`, `paused`, `locked` or `faulty`, with words. */
export class Connection {
  #heard
  #became
  #abort
  #last = 0
  #again

  constructor(heard, became) {
    this.#heard = heard
    this.#became = became
    document.addEventListener('visibilitychange', () => this.#follow())
    setInterval(() => this.#judge(), LOOK_MS)
    this.#follow()
  }

  restart() {
    this.#close()
    this.#follow()
  }

  #follow() {
    if (document.hidden) {
      this.#close()
      this.#became('paused')
    } else if (this.#abort === undefined) void this.#open()
  }

  #close() {
    clearTimeout(this.#again)
    this.#abort?.abort()
    this.#abort = undefined
  }

  #judge() {
    if (this.#abort === undefined || this.#last === 0) return
    if (Date.now() - this.#last <= SILENT_MS) return
    this.#lost('nothing was heard for 3 seconds')
  }

  #lost(why) {
    this.#close()
    this.#last = 0
    this.#became('lost', `${why}; trying again`)
    if (!document.hidden) this.#again = setTimeout(() => this.#follow(), AGAIN_MS)
  }

  /** A fault of the page does not end the stream. */
  #give(sample) {
    try {
      this.#heard(sample)
    } catch (error) {
      console.error(error)
      this.#became('faulty', String(error))
    }
  }

  async #open() {
    const abort = new AbortController()
    this.#abort = abort
    this.#last = Date.now()
    try {
      const answer = await fetch('events', { headers: headers(), signal: abort.signal })
      if (answer.status === 401) {
        this.#close()
        return this.#became('locked')
      }
      if (!answer.ok) throw new Error((await answer.json()).error.message)
      for await (const { event, data } of eventsIn(answer.body)) {
        this.#last = Date.now()
        if (event === 'failed') this.#became('lost', `${JSON.parse(data).message}; trying again`)
        else if (data !== '') this.#give(JSON.parse(data))
      }
      throw new Error('the gateway ended the stream')
    } catch (error) {
      if (!abort.signal.aborted) this.#lost(error.message)
    }
  }
}

/** Server-sent events of a body. A comment is an event without data. */
export async function* eventsIn(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (text + value).split('\n\n')
    text = blocks.pop()
    for (const block of blocks) {
      const lines = block.split('\n')
      const of = (name) =>
        lines
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
      yield { event: of('event')[0], data: of('data').join('\n') }
    }
  }
}
