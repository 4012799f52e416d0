/** A function in a property of a short-lived object: written at the assignment, or named before it. */
import { compare } from './runner.ts'

class Holder {
  onLeave: () => number = () => 0
}
const seen = { sum: 0 }

/** Other memory of a request, so that the collector has work. */
const bytes = () => new Array(1_000).fill(0)

await compare(import.meta.url, 300_000, {
  'named first': (times) => {
    for (let index = 0; index < times; index++) {
      const holder = new Holder()
      const held = bytes()
      const leave = () => held.length
      holder.onLeave = leave
      seen.sum += holder.onLeave()
    }
  },
  'at the assignment': (times) => {
    for (let index = 0; index < times; index++) {
      const holder = new Holder()
      const held = bytes()
      holder.onLeave = () => held.length
      seen.sum += holder.onLeave()
    }
  },
})
