/** Runs long work in short steps, so that other requests are served in between. */
import { type Heavy, heavyWork, LARGE_BYTES, TURN_MS } from './heavy-work.ts'

/** Runs work that yields wherever other work may run. */
export function inSteps<T>(work: Generator<undefined, T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const job: Heavy = {
      takeTurn() {
        const began = performance.now()
        try {
          let next = work.next()
          while (next.done !== true && performance.now() - began < TURN_MS) next = work.next()
          if (next.done === true) resolve(next.value)
          else heavyWork.awaitTurn(job)
        } catch (error) {
          reject(error)
        }
        heavyWork.spend(performance.now() - began)
      },
    }
    heavyWork.awaitTurn(job)
  })
}

/** Work on the tree of a request with this many bytes: a large one has a separate turn. */
export function inTurn<T>({ length }: Pick<Buffer, 'length'>, work: () => T): T | Promise<T> {
  return length <= LARGE_BYTES ? work() : inSteps(oneStep(work))
}

// biome-ignore lint/correctness/useYield: it is one step.
function* oneStep<T>(work: () => T): Generator<undefined, T> {
  return work()
}

/** Runs the same work at once, for callers that delay no request. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}
