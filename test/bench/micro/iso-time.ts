/** The time of a log line: formatted for each request, or once for all of a second. */
import { compare } from './runner.ts'

let formatted = { second: 0, text: '' }
const seen = { length: 0 }

function cached(wall: number): string {
  const second = Math.floor(wall / 1000)
  if (formatted.second !== second) {
    formatted = { second, text: new Date(second * 1000).toISOString().slice(0, -4) }
  }
  return `${formatted.text}${String(wall - second * 1000).padStart(3, '0')}Z`
}

await compare(import.meta.url, 2_000_000, {
  'once a second': (times) => {
    for (let index = 0; index < times; index++) seen.length += cached(Date.now()).length
  },
  'each time': (times) => {
    for (let index = 0; index < times; index++)
      seen.length += new Date(Date.now()).toISOString().length
  },
})
