/** The request of the playground: sends it, and collects the answer as it arrives. Nothing of it outlives the tab. */
import { eventsIn, headers } from './connection.js'

/** More text than any model writes; a longer answer ends here. */
const TEXT_MAX = 1_000_000
const RAW_MAX = 65_536

export class Play {
  /** `running`, `ended`, or `stopped` by the reader. */
  state = 'running'
  status
  headers = []
  text = ''
  /** The answer as it came: the body, or the data of its events. */
  raw = ''
  fault
  firstMs
  ms
  #abort = new AbortController()
  #startedAt = performance.now()
  #changed

  /** `changed` is called at most once a frame. */
  constructor(pod, { key, body }, changed) {
    let isWaiting = false
    this.pod = pod
    this.#changed = () => {
      if (isWaiting) return
      isWaiting = true
      requestAnimationFrame(() => {
        isWaiting = false
        changed()
      })
    }
    void this.#send(key, body)
  }

  get requestId() {
    return this.headers.find(([name]) => name === 'x-request-id')?.[1]
  }

  stop() {
    if (this.state !== 'running') return
    this.state = 'stopped'
    this.#abort.abort()
  }

  async #send(key, body) {
    try {
      const answer = await fetch(`..${this.pod.path}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          ...headers(),
          'content-type': 'application/json',
          ...(key !== '' && { 'x-client-key': key }),
        },
        body: JSON.stringify(body),
        signal: this.#abort.signal,
      })
      this.status = answer.status
      this.headers = [...answer.headers].filter(([name]) =>
        /^(?:x-gw-|x-request-id|retry-after)/.test(name),
      )
      this.#changed()
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
      if (isStream) await this.#readEvents(answer.body)
      else this.#readWhole(await answer.text())
    } catch (error) {
      if (this.state === 'running') this.fault = `The answer broke off: ${error.message}`
    }
    if (this.state === 'running') this.state = 'ended'
    this.ms = performance.now() - this.#startedAt
    this.#changed()
  }

  async #readEvents(body) {
    for await (const { data } of eventsIn(body)) {
      if (data === '' || data === '[DONE]') continue
      this.#keep(`${data}\n`)
      const event = JSON.parse(data)
      if (event.error) this.fault = event.error.message
      this.#add(event.choices?.[0]?.delta?.content ?? '')
    }
  }

  #readWhole(text) {
    this.#keep(text)
    const answer = JSON.parse(text)
    if (answer.error) this.fault = answer.error.message
    this.#add(answer.choices?.[0]?.message?.content ?? '')
  }

  #keep(text) {
    this.raw = (this.raw + text).slice(0, RAW_MAX)
  }

  #add(text) {
    if (text === '') return
    this.firstMs ??= performance.now() - this.#startedAt
    this.text += text
    if (this.text.length > TEXT_MAX) {
      this.fault = 'The answer is longer than this page shows; it was stopped.'
      this.stop()
    }
    this.#changed()
  }
}
