/** Runs long work in short steps, so that other requests are served in between. */
import { type Heavy, heavyWork, LARGE_BYTES, TURN_MS } from './heavy-work.ts'

/** Runs work that yields wherever it may be interrupted. */
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

/** Work over the tree of a request with that many bytes: that of a large one has a turn for itself. */
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
