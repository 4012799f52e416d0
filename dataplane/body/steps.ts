/** Long work in short steps: between two of them everybody else's requests are served. */

/** So long may others wait for one step; what is done in one piece may take a little longer. */
const STEP_MS = 4
/** Between two steps others have four times as long, so that large bodies take a fifth of the process at most. */
const REST_FACTOR = 4

interface Job {
  /** Goes on; true: it has ended, in whatever way. */
  step(): boolean
}

/** One step of one of them at a time, in turn. */
const jobs: Job[] = []

/** Runs work that yields wherever it may be interrupted. */
export function inSteps<T>(work: Generator<undefined, T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const step = () => {
      try {
        const next = work.next()
        if (next.done !== true) return false
        resolve(next.value)
      } catch (error) {
        reject(error)
      }
      return true
    }
    jobs.push({ step })
    if (jobs.length === 1) setImmediate(turn)
  })
}

/** The same work where nobody else waits. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

function turn(): void {
  const job = jobs[0]
  if (job === undefined) return
  const began = performance.now()
  const endsAt = began + STEP_MS
  let isOver = false
  do isOver = job.step()
  while (!isOver && performance.now() < endsAt)
  jobs.shift()
  if (!isOver) jobs.push(job)
  if (jobs.length === 0) return
  setTimeout(turn, REST_FACTOR * (performance.now() - began))
}
