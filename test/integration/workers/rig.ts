/** A gateway of several processes, and the process that answered a request. */
import type { Front, Heard } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'

export interface ShownWorker {
  readonly number: number
  readonly pid: number
  readonly state: string
  readonly starts: number
  readonly hash?: string
}

export async function workersOf(front: Front): Promise<readonly ShownWorker[]> {
  return (await front.admin('/status')).workers
}

/** The tag of the process in the id of a request. */
export function processOf({ headers }: Pick<Heard, 'headers'>): string {
  return String(headers['x-request-id']).split('-')[0] ?? ''
}

/** Each request has its own connection, so sooner or later each process gets one. */
export async function answersOfEach(front: Front, processes: number): Promise<Map<string, Heard>> {
  const answers = new Map<string, Heard>()
  await until(`${processes} processes answer`, async () => {
    const heard = await front.chat()
    answers.set(processOf(heard), heard)
    return answers.size === processes
  })
  return answers
}

export async function untilAllServe(front: Front): Promise<void> {
  await until('all workers serve', async () =>
    (await workersOf(front)).every(({ state, hash }) => state === 'serving' && hash !== undefined),
  )
}
