/**
 * 256 requests run at a time, each with half a kilobyte; the oldest leaves as a new one arrives. In between the
 * collector runs, so that the container is old, as in a process that has run for a while.
 */
import { type Member, Roster } from '../../../dataplane/base/roster.ts'
import { collectGarbage, compare } from './runner.ts'

const RUNNING = 256

class Request implements Member {
  seat = -1
  readonly words = new Array(64).fill(0)
}

function turn(add: (request: Request) => void, remove: (request: Request) => void) {
  const running: Request[] = []
  let oldest = 0
  return (times: number) => {
    collectGarbage()
    for (let index = 0; index < times; index++) {
      const request = new Request()
      add(request)
      const gone = running[oldest]
      if (gone !== undefined) remove(gone)
      running[oldest] = request
      oldest = (oldest + 1) % RUNNING
    }
  }
}

const roster = new Roster<Request>()
const set = new Set<Request>()

await compare(import.meta.url, 3_000_000, {
  Roster: turn(
    (request) => roster.add(request),
    (request) => roster.remove(request),
  ),
  Set: turn(
    (request) => set.add(request),
    (request) => set.delete(request),
  ),
})
